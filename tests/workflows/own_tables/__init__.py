"""Tests of runs on the parties' own tables."""
