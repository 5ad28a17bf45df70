"""Tests, one file per module or behaviour."""
