"""Other systems, and how each does the work."""
