"""Transcripts of repeated runs: messages by party and row."""
