"""Tests of the tools that follow runs."""
