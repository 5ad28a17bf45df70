"""Runs, their folders, pages and predictions."""
