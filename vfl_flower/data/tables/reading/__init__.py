"""Readings of text: numbers with marks, dates, booleans, and hashes."""
