"""Tests of deployments on this machine."""
