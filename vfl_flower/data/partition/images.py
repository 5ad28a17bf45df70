"""Partitions of images: strips and grids."""

from itertools import pairwise

import numpy as np

from vfl_flower.common.errors import DataError
from vfl_flower.data.columns import Features
from vfl_flower.data.partition.shares import Share


def strips(features: Features, parties: int, axis: str, seed: int) -> list[Share]:
    """Split images into upright (``columns``) or level (``rows``) strips.

    Their widths differ by one pixel at most.

    Raises
    ------
    DataError
        If the rows are no images, or have fewer pixels that way than there are parties.
    """
    height, width = _image("strips", features)
    total = width if axis == "columns" else height
    if total < parties:
        raise DataError(f"{total} pixel {axis} cannot be dealt to {parties} parties")
    sizes = [len(part) for part in np.array_split(np.arange(total), parties)]
    parts = _cut(np.cumsum(sizes).tolist())
    if axis == "columns":
        return [(slice(None), slice(None), part) for part in parts]
    return [(slice(None), part, slice(None)) for part in parts]


def grid(features: Features, parties: int, shape: tuple[int, int], seed: int) -> list[Share]:
    """Split images into r x c tiles, in reading order.

    Pixels that remain go to the last tiles.

    Raises
    ------
    DataError
        If the rows are no images, the tiles are not one for each party, or are empty.
    """
    if shape[0] * shape[1] != parties:
        raise DataError(
            f"grid:{shape[0]}x{shape[1]} has {shape[0] * shape[1]} tiles, and there are {parties} "
            "parties; give each one tile"
        )
    cuts = []
    for total, pieces in zip(_image("grid", features), shape, strict=True):
        if total < pieces:
            raise DataError(f"{total} pixels cannot be cut into {pieces} tiles")
        size = total // pieces
        cuts.append(_cut([*range(size, size * pieces, size), total]))
    return [(slice(None), rows, columns) for rows in cuts[0] for columns in cuts[1]]


def _cut(ends: list[int]) -> list[slice]:
    return [slice(start, end) for start, end in pairwise([0, *ends])]


def _image(name: str, features: Features) -> tuple[int, int]:
    """Return height and width."""
    if features.ndim != 4:
        raise DataError(f"partition {name} cuts images; use columns for a table")
    return features.shape[2], features.shape[3]
