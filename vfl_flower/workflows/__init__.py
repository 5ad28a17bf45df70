"""Train, align, predict: runs from start to end."""
