"""Tests of privacy accounts over all runs."""
