"""How the columns of a data set are dealt out to the parties: the first share is the active's."""

from collections.abc import Callable

import numpy as np

from vfl_flower.data.datasets import Features
from vfl_flower.errors import DataError

STRIP_AXES = {"columns": 3, "rows": 2}
"""The axis of (N, channels, height, width) that a strip cuts."""


def strips(features: Features, parties: int, axis: str) -> list[Features]:
    """Cut images into upright (`columns`) or level (`rows`) strips, as even as possible.

    Raises
    ------
    DataError
        If the rows are no images, or have fewer pixels that way than there are parties.
    """
    if features.ndim != 4:
        raise DataError("partition strips cuts images; use columns for a table")
    if features.shape[STRIP_AXES[axis]] < parties:
        raise DataError(
            f"{features.shape[STRIP_AXES[axis]]} pixel {axis} cannot be dealt to {parties} parties"
        )
    return np.array_split(features, parties, STRIP_AXES[axis])


def columns(features: Features, parties: int, axis: str) -> list[Features]:
    """Deal out the columns of a table (or an image's pixels, in reading order) in equal runs.

    Raises
    ------
    DataError
        If there are fewer columns than parties.
    """
    table = features.reshape(len(features), -1)
    if table.shape[1] < parties:
        raise DataError(f"{table.shape[1]} columns cannot be dealt to {parties} parties")
    return np.array_split(table, parties, axis=1)


PARTITIONS: dict[str, Callable[[Features, int, str], list[Features]]] = {
    "strips": strips,
    "columns": columns,
}
