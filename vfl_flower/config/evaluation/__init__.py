"""Evaluation of predictions: metrics by name, and their direction."""
