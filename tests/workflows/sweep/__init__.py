"""Tests of `vfl_flower.workflows.sweep`."""
