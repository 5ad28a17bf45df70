"""Tests of the papers' pages."""
