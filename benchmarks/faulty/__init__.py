"""Faults put into runs on purpose, and what becomes of the runs."""
