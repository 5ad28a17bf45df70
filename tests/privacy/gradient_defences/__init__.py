"""Defences of gradients."""
