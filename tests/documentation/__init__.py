"""Tests of the documentation: pictures, generated pages."""
