"""Split by time: the latest rows are held out."""

import numpy as np
from sklearn.model_selection import TimeSeriesSplit

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import DataError
from vfl_flower.data.splitting.splitter import Halves, Splitter


class Timed(Splitter):
    """Holds the latest rows out; rows of one time stay together."""

    def hold_out(self, rows: Array, count: int) -> Halves:
        """Hold out the latest rows, about `count` of them."""
        order = self._ordered(rows)
        cut = self._cut(order, len(order) - count)
        return np.sort(order[:cut]), np.sort(order[cut:])

    def fold(self, rows: Array, number: int, folds: int) -> Halves:
        """Hold out a block of rows; only earlier ones stay.

        The rows are cut by time into one block more than there are folds.
        """
        order = self._ordered(rows)
        if len(order) <= folds:
            raise DataError(f"active: {len(order)} rows are too few for {folds} folds by time")
        held = list(TimeSeriesSplit(folds).split(order))[number][1]
        start, end = self._cut(order, held[0]), len(order)
        if held[-1] + 1 < len(order):
            end = self._cut(order, held[-1] + 1)
        if start >= end:
            raise DataError(
                f"active: split is time, and too many rows have one time for {folds} folds; use "
                "fewer folds, or a finer time"
            )
        return np.sort(order[:start]), np.sort(order[start:end])

    def _ordered(self, rows: Array) -> Array:
        ordered: Array = rows[np.argsort(self.values[rows], kind="stable")]
        return ordered

    def _cut(self, order: Array, near: int) -> int:
        """Return the place nearest to a cut where the time changes."""
        times = self.values[order]
        places = np.flatnonzero(times[1:] != times[:-1]) + 1
        if not len(places):
            raise DataError(
                "active: split is time, and all rows that are left have one time; hold out fewer "
                "parts, or name a column with a finer time"
            )
        return int(places[np.abs(places - near).argmin()])
