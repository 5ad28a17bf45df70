"""Encoders of single columns: numeric and categorical."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfl_flower.data.columns import Column

Matrix = NDArray[np.float32]

NUMERIC = {"name": str, "median": float, "mean": float, "deviation": float}


@dataclass(frozen=True)
class Numeric:
    """Numeric column: (x - mean) / deviation, with the median in gaps."""

    name: str
    median: float
    mean: float
    deviation: float


@dataclass(frozen=True)
class Categorical:
    """Categorical column: the training rows' categories in order, perhaps a gap."""

    name: str
    values: tuple[str, ...]
    gap: bool
    type: str

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
        return known[np.where(np.isnan(codes), len(known) - 1, codes).astype(np.intp)]
