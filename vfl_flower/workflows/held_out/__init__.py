"""Agreement on held-out rows."""
