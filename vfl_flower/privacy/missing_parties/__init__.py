"""Rows that some passive parties lack, and sums over the others."""
