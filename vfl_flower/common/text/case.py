"""Texts whose case does not count."""

from unicodedata import normalize


def folded(text: str) -> str:
    """Return the common spelling of texts that differ in case, in NFC."""
    return normalize("NFC", normalize("NFD", text).casefold())
