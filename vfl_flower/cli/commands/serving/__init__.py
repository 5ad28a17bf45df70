"""Commands of running services."""
