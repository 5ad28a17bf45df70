"""Tests of columns, as they are read and encoded."""
