"""Connections, sessions and deployments, and their disturbances."""
