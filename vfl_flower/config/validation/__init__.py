"""Checks of a run configuration before anything starts."""
