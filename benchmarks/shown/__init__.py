"""Runs behind the numbers of documentation pages."""
