"""Tests of client-level differential privacy."""
