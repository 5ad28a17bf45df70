"""Runs with all parties in one process, silent by default."""
