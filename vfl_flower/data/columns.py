"""Types of features, labels and table columns."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Features = NDArray[np.float32 | np.uint8]  # (N, channels, height, width) or (N, columns)
Pixels = NDArray[np.uint8]  # (N, channels, height, width)
Labels = NDArray[np.int64]  # (N,)
LARGEST = 3.4028234e38  # of float32

NUMBER, BOOLEAN, TEXT = "number", "boolean", "text"
"""The types of cells that can be used."""


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    name : str
    values : tuple of str or None
        Of a categorical column, the values in sorted order: a row holds their places. None for
        numbers.
    gaps : bool
        Whether a row may have no value here; NaN stands for it.
    type : str
        Of a categorical column, what its cells are; names may be written as numbers.
    """

    name: str
    values: tuple[str, ...] | None = None
    gaps: bool = False
    type: str = TEXT


@dataclass(frozen=True)
class Table:
    """A table that was read.

    Attributes
    ----------
    features : ndarray of float32
        (N, m).
    labels : ndarray of int64
        (N,), places in the source's classes.
    columns : tuple of Column
        Of the features.
    """

    features: NDArray[np.float32]
    labels: NDArray[np.int64]
    columns: tuple[Column, ...]


Columns = tuple[Column, ...]
