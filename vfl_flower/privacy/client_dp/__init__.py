"""Client-level differential privacy of uploads."""
