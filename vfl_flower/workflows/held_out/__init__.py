"""Agreement on held-out rows, and folds of them."""
