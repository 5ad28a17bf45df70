"""Parsed options of defences without a guarantee."""
