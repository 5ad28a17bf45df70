"""Gradient boosted trees on histograms of columns that several parties hold."""
