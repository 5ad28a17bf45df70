"""Contract tests of every method."""
