"""Runs, predictions and services that go on without parties."""
