"""Cryptographic primitives with published test vectors."""
