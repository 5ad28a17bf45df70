"""Noise whose shares are summed under masks."""
