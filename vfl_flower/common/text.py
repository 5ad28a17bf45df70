"""Small text formatting helpers."""

from collections.abc import Sequence


def written(shape: Sequence[int]) -> str:
    """Return a shape as text."""
    return " x ".join(map(str, shape))
