"""Common base of splits by a value of each row."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfl_flower.common.codec import Array

Values = NDArray[Any]
Halves = tuple[Array, Array]
"""Rows that stay, and rows that are held out."""


class Splitter(ABC):
    """Holds rows out by a value of each row.

    Parameters
    ----------
    values : ndarray
        (N,): classes, groups or times.
    random : numpy.random.Generator
        Draws what the values leave open.
    names : tuple of str
        Names of the classes, for errors.
    """

    def __init__(
        self, values: Values, random: np.random.Generator, names: tuple[str, ...] = ()
    ) -> None:
        self.values, self.random, self.names = values, random, names

    @abstractmethod
    def hold_out(self, rows: Array, count: int) -> Halves:
        """Hold some rows out, as many as `count` or nearly so.

        Raises
        ------
        DataError
            If the values do not allow it.
        """

    @abstractmethod
    def fold(self, rows: Array, number: int, folds: int) -> Halves:
        """Hold one fold out.

        The rows that stay may be fewer than the rest. All folds of one seed are disjoint.

        Raises
        ------
        DataError
            If the values do not allow it.
        """

    def thinned(self, rows: Array, count: int) -> Array:
        """Draw some of the rows."""
        return np.sort(self.random.choice(rows, count, replace=False))

    def drawn(self) -> int:
        """Draw a seed of scikit-learn."""
        return int(self.random.integers(2**32))
