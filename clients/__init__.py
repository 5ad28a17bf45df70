"""Passive parties: one file per method, with a counterpart in `strategies`."""
