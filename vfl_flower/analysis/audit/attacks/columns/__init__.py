"""Attacks on columns, and on facts about them."""
