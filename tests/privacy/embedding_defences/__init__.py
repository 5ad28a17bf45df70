"""Defences of embeddings."""
