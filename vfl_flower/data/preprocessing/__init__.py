"""Encoders, scaling and label preparation."""
