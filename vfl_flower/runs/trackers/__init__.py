"""Adapters that send a run's configuration and metrics to trackers of experiments."""
