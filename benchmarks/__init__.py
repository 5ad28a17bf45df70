"""Benchmarks, one script per table of `results.md`."""
