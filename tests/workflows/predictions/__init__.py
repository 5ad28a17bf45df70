"""Tests of predictions of a run's own rows."""
