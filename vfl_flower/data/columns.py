"""Types of features, labels and table columns."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Features = NDArray[np.float32 | np.uint8]  # (N, channels, height, width) or (N, columns)
Pixels = NDArray[np.uint8]  # (N, channels, height, width)
Labels = NDArray[np.int64]  # (N,)
LARGEST = 3.4028234e38  # of float32

NUMBER, BOOLEAN, TEXT, DATE = "number", "boolean", "text", "date"
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
    use : str
        Use with its detail, where the values do not tell it: ``grouped:10``, ``hashed``, ``date``
        (a row holds hours since 1970-01-01), ``boolean``, or ``numeric:%`` for a unit.
    reference : float or None
        Of dates, the hour up to which ages count; None: what the encoder has or finds.
    parts : tuple of Column
        Of several labels, the column of each; their names are `values`.
    """

    name: str
    values: tuple[str, ...] | None = None
    gaps: bool = False
    type: str = TEXT
    use: str = ""
    reference: float | None = None
    parts: tuple["Column", ...] = ()

    @property
    def kind(self) -> str:
        """Use without its detail."""
        return self.use.partition(":")[0] or ("numeric" if self.values is None else "categorical")


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
