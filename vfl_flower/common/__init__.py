"""Helpers without knowledge of federated learning."""
