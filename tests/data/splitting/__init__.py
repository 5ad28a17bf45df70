"""Tests of splits by classes, groups and times."""
