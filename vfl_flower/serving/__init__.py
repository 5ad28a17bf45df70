"""Scoring service: predictions for ids, from parties that stay in memory."""
