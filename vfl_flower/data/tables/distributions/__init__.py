"""Distributions of the cells of columns, to be drawn."""
