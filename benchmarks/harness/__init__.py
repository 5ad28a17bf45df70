"""Harness that all benchmarks share: options, measurement, results as data and tables."""
