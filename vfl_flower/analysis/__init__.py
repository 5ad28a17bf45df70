"""Analyses of finished runs: audits and explanations."""
