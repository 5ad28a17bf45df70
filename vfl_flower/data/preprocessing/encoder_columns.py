"""Encoders of single columns: numeric, and of categories."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfl_flower.data.columns import Column

Matrix = NDArray[np.float32]

NUMERIC = {"name": str, "median": float, "mean": float, "deviation": float}
CATEGORICAL = {"name": str, "values": [str], "gap": bool, "type": str}
GROUPED = CATEGORICAL | {"rare": [str], "least": int}


@dataclass(frozen=True)
class Numeric:
    """Numeric column: (x - mean) / deviation, with the median in gaps."""

    name: str
    median: float
    mean: float
    deviation: float

    @classmethod
    def fit(cls, name: str, sample: Matrix) -> "Numeric":
        """Fit to numbers, (n,) with NaN for gaps.

        A column that does not vary is centred only.
        """
        median = np.nanmedian(sample)
        filled = np.where(np.isnan(sample), median, sample)
        mean = filled.mean(dtype=np.float64)
        deviation = np.float32(filled.std(dtype=np.float64)) or 1.0
        return cls(name, float(median), float(np.float32(mean)), float(deviation))


@dataclass(frozen=True)
class Categorical:
    """Categorical column: the training rows' categories in order, perhaps a gap."""

    name: str
    values: tuple[str, ...]
    gap: bool
    type: str

    @classmethod
    def fit(cls, column: Column, sample: Matrix) -> "Categorical":
        """Fit to places in the column's values, (n,) with NaN for gaps."""
        gaps = np.isnan(sample)
        seen = np.unique(sample[~gaps]).astype(np.intp)
        known = tuple((column.values or ())[place] for place in seen)
        return cls(column.name, known, bool(gaps.any()), column.type)

    @property
    def known(self) -> tuple[str, ...]:
        """All categories of the training rows."""
        return self.values

    @property
    def width(self) -> int:
        """How many columns it becomes."""
        return len(self.values) + self.gap

    def places(self, column: Column, codes: Matrix) -> NDArray[np.intp]:
        """Return the one-hot place of each row, (N,); `width` for none."""
        place = {value: number for number, value in enumerate(self.values)}
        of_codes = [place.get(value, self.width) for value in column.values or ()]
        of_gap = len(self.values) if self.gap else self.width
        known = np.array([*of_codes, self.width, of_gap], np.intp)  # the last but one: any other
        return known[_codes(codes, len(known) - 1)]

    def fill(self, made: Matrix, column: Column, codes: Matrix) -> None:
        """Write ones into zeros, (n, width)."""
        ones = self.places(column, codes)
        held = np.flatnonzero(ones < self.width)
        made[held, ones[held]] = 1

    def unseen(self, column: Column, codes: Matrix) -> NDArray[np.bool_]:
        """Mark rows with a category or gap unseen in training."""
        unseen: NDArray[np.bool_] = self.places(column, codes) == self.width
        return unseen


@dataclass(frozen=True)
class Grouped:
    """Categorical column whose rare categories share one column.

    The columns are those of `values`, then one of `rare` if there are any, then one of gaps. A
    category that no training row has counts as rare.
    """

    name: str
    values: tuple[str, ...]
    gap: bool
    type: str
    rare: tuple[str, ...]
    least: int

    @classmethod
    def fit(cls, column: Column, sample: Matrix, most: int) -> "Grouped":
        """Fit to places in the column's values, (n,) with NaN for gaps.

        Rare are those with fewer rows than ``least``, and all but the `most` frequent ones.
        """
        least = int(column.use.partition(":")[2])
        gaps = np.isnan(sample)
        seen, counts = np.unique(sample[~gaps].astype(np.intp), return_counts=True)
        kept = np.zeros(len(seen), bool)
        kept[np.argsort(-counts, kind="stable")[:most]] = True
        kept &= counts >= least
        values = column.values or ()
        often, rare = (tuple(values[place] for place in seen[each]) for each in (kept, ~kept))
        return cls(column.name, often, bool(gaps.any()), column.type, rare, least)

    @property
    def known(self) -> tuple[str, ...]:
        """All categories of the training rows."""
        return self.values + self.rare

    @property
    def width(self) -> int:
        """How many columns it becomes."""
        return len(self.values) + bool(self.rare) + self.gap

    def fill(self, made: Matrix, column: Column, codes: Matrix) -> None:
        """Write ones into zeros, (n, width)."""
        place = {value: number for number, value in enumerate(self.values)}
        other = len(self.values) if self.rare else self.width
        of_codes = [place.get(value, other) for value in column.values or ()]
        of_gap = self.width - 1 if self.gap else self.width
        known = np.array([*of_codes, other, of_gap], np.intp)
        ones = known[_codes(codes, len(known) - 1)]
        held = np.flatnonzero(ones < self.width)
        made[held, ones[held]] = 1

    def unseen(self, column: Column, codes: Matrix) -> NDArray[np.bool_]:
        """Mark rows with a category or gap unseen in training."""
        there = set(self.known)
        of_codes = [value not in there for value in column.values or ()]
        new = np.array([*of_codes, True, not self.gap])
        return new[_codes(codes, len(new) - 1)]


def _codes(codes: Matrix, of_gap: int) -> NDArray[np.intp]:
    return np.where(np.isnan(codes), of_gap, codes).astype(np.intp)
