"""Shares of columns and pixels, and their algebra."""

import numpy as np
from numpy.typing import NDArray

from vfl_flower.data.columns import Features

Columns = NDArray[np.intp]
Mask = NDArray[np.bool_]
Share = tuple[slice, slice, slice] | Columns
"""What a party holds: a part (channels, rows, columns) of each image, or columns of a table."""

NOTHING: Columns = np.arange(0)
"""The share of a party without columns."""


def take(features: Features, share: Share) -> Features:
    """Take one share of all rows.

    A list of columns counts an image's pixels in reading order.
    """
    if isinstance(share, tuple):
        return features[:, *share]
    return features.reshape(len(features), -1)[:, share]


def union(shares: list[Share]) -> Share:
    """Return the union of all shares; of image parts, the whole image."""
    if isinstance(shares[-1], tuple):
        return slice(None), slice(None), slice(None)
    return np.unique(np.concatenate([share for share in shares if not isinstance(share, tuple)]))


def mask_of(share: Share, shape: tuple[int, ...]) -> Mask:
    """Mark the features of a share, in the shape of a row."""
    held = np.zeros(shape, bool)
    if isinstance(share, tuple):
        held[share] = True
    else:
        held.reshape(-1)[share] = True
    return held
