"""Vertical partitions: which party holds which columns."""
