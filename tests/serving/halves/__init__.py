"""Tests of exported networks."""
