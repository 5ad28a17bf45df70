"""Tests of alignment."""
