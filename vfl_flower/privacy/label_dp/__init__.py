"""Label differential privacy."""
