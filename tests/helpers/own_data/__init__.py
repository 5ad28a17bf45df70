"""Parties with tables of their own."""
