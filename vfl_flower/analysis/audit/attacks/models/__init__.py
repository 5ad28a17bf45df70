"""Attacks on columns by predictions of networks that are all known."""
