"""Defences of columns in embeddings, without a guarantee."""
