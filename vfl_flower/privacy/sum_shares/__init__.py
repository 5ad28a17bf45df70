"""Shares of the variance of a masked sum."""
