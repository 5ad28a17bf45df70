"""Faults of whole deployments on loopback, scenario by scenario."""
