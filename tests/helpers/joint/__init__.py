"""Joint references: each method as one plain PyTorch program."""
