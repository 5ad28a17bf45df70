"""Networks, losses, optimizers, metrics and batches."""
