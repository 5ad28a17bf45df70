"""Shares of a masked sum."""
