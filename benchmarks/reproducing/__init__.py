"""Harness that repeats papers' tables: runs, readings, verdicts."""
