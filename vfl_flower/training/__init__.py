"""Training loop, evaluation, checkpointing and early stopping."""
