"""Deployment tools: certificates, keys, a deployment on one machine."""
