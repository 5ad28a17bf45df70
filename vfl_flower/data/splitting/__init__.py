"""Splits of rows by classes, groups or times."""
