"""Checks for releases that take hours, with their results as data."""
