"""Attacks that were carried out, each refused or bounded."""
