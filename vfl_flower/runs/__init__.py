"""Run folders, results and metrics files."""
