"""Faults in runs, and the outcome of the next command."""
