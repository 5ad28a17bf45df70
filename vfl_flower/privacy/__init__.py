"""Privacy protections: secure aggregation, label and client-level differential privacy."""
