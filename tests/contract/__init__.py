"""Tests of what every method keeps."""
