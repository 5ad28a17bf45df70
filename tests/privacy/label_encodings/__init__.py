"""Encodings of labels."""
