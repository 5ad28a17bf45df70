"""Harness that repeats what papers report: runs, readings, verdicts."""
