"""Packages that are not always there, or not whole."""
