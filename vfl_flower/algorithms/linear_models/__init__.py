"""Generalized linear models whose columns several parties hold."""
