"""Mechanisms that uploads of passive parties go through."""
