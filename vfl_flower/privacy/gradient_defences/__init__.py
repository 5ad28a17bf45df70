"""Defences of labels in gradients, without a guarantee."""
