"""Protections with a formal guarantee: noise, and what exactly it covers."""
