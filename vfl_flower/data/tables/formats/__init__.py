"""Formats of a table's file, by its suffix."""
