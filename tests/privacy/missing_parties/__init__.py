"""Rows that some passive parties lack."""
