"""Audits: attacks by the parties of a run, measured."""
