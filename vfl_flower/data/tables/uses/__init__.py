"""Uses of columns, inferred or stated, and advice on them."""
