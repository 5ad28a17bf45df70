"""Leakage cards and their attacks."""
