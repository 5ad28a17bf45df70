"""Defences of labels in gradients on their way to passive parties, without a guarantee."""
