"""Tests of the parties' own tables."""
