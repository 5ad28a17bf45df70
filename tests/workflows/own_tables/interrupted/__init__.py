"""Tests of runs on own tables that are interrupted before they begin."""
