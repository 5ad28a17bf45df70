"""Encoder of a column of text that is hashed."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfl_flower.data.columns import Column
from vfl_flower.data.preprocessing.encoder_columns import Matrix

BUCKETS = 64
"""Columns that text is hashed into, at most."""

HASHED = {"name": str, "buckets": [int], "gap": bool, "type": str}


@dataclass(frozen=True)
class Hashed:
    """Hashed text: a column of signs for each bucket in training.

    A row holds the number of its bucket, from 1, with the sign of its hash.

    Attributes
    ----------
    name : str
    buckets : tuple of int
        Numbers of those that a training row has; others have no column, as its weights would never
        be trained.
    gap : bool
        Whether a training row has no value; then the last column is of gaps.
    type : str
        What the cells are.
    """

    name: str
    buckets: tuple[int, ...]
    gap: bool
    type: str

    @classmethod
    def fit(cls, column: Column, sample: Matrix) -> "Hashed":
        """Fit to signed numbers of buckets, (n,) with NaN for gaps."""
        gaps = np.isnan(sample)
        found = np.unique(np.abs(sample[~gaps])).astype(int)
        return cls(column.name, tuple(found.tolist()), bool(gaps.any()), column.type)

    @property
    def width(self) -> int:
        """How many columns it becomes."""
        return len(self.buckets) + self.gap

    def fill(self, made: Matrix, column: Column, codes: Matrix) -> None:
        """Write the signs into zeros, (n, width)."""
        place = np.full(BUCKETS + 1, -1)
        place[list(self.buckets)] = np.arange(len(self.buckets))
        place[0] = len(self.buckets) if self.gap else -1
        signed = np.where(np.isnan(codes), 0, codes)
        ones = place[np.abs(signed).astype(np.intp)]
        held = np.flatnonzero(ones >= 0)
        made[held, ones[held]] = np.where(signed[held] < 0, -1, 1)

    def unseen(self, column: Column, codes: Matrix) -> NDArray[np.bool_]:
        """Mark rows with a bucket or gap unseen in training."""
        known = np.zeros(BUCKETS + 1, bool)
        known[list(self.buckets)] = True
        known[0] = self.gap
        return ~known[np.abs(np.where(np.isnan(codes), 0, codes)).astype(np.intp)]
