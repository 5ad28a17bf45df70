"""Connections, sessions and deployments, and what disturbs them."""
