"""Attacks of a leakage card, one file each."""
