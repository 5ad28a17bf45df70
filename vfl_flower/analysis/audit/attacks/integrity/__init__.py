"""Attacks on integrity: parties that deviate from the protocol."""
