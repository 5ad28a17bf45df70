"""Declarations of the methods, one file each, without torch."""
