"""Tests of the agreement on a split."""
