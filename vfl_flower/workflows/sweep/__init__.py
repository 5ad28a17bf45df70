"""Sweeps: many runs with other options, chosen by their validation rows."""
