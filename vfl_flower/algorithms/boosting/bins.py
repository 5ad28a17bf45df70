"""Columns in bins, and sums of gradients by bin."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vfl_flower.common.codec import Array

MOST_BINS = 255
"""Most bins of a column, so that a code takes one byte, with one left for missing values."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Splits that a party offers, in the order of their numbers.

    Attributes
    ----------
    column : ndarray
        (M,) int64, of the party's columns.
    bin : ndarray
        (M,) int64, the last bin that goes left.
    missing_left : ndarray
        (M,) bool, whether rows without a value go left.
    """

    column: Array
    bin: Array
    missing_left: Array


class Bins:
    """One party's columns in bins, by their quantiles in the training rows.

    Parameters
    ----------
    x : ndarray
        (N, F) float32, of the training rows; NaN where a value is missing.
    most : int
        Most bins of a column, at most `MOST_BINS`. A column with fewer values has one for each.

    Attributes
    ----------
    edges : list of ndarray
        Of each column its thresholds, ascending; bin j holds edges[j - 1] < x <= edges[j].
    codes : ndarray
        (F, N) uint8, the bin of each value; `most` where it is missing.
    """

    def __init__(self, x: Array, most: int) -> None:
        self.most = most
        self.edges = [_edges(column, most) for column in x.T]
        self.codes = np.empty(x.shape[::-1], np.uint8)
        for code, column, edges in zip(self.codes, x.T, self.edges, strict=True):
            code[:] = np.where(np.isnan(column), most, np.searchsorted(edges, column))

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def gaps(self) -> NDArray[np.bool_]:
        """Tell which columns have missing values, (F,)."""
        return np.array([bool((code == self.most).any()) for code in self.codes], bool)

    def candidates(self, order: Array) -> Candidates:
        """List the splits of some columns, (F',) int64, in that order.

        Of a column with missing values, these go either way, or alone to the right.
        """
        found = [np.empty((3, 0), np.int64)]
        for column in order.tolist():
            last = len(self.edges[column])
            bins = np.arange(last + bool(self.gaps[column]))  # the last one: all that is there
            sides = np.zeros(len(bins), np.int64)
            if self.gaps[column]:
                bins, sides = np.append(bins, bins[:last]), np.append(sides, np.ones(last, int))
            found.append(np.stack([np.full(len(bins), column), bins, sides]))
        column, last_bin, side = np.concatenate(found, axis=1)
        return Candidates(column, last_bin, side.astype(bool))

    def threshold(self, column: int, last: int) -> float:
        """Return the largest value that goes left; infinite behind the last edge."""
        edges = self.edges[column]
        return float(edges[last]) if last < len(edges) else float("inf")

    def left_sums(self, offered: Candidates, group: Array, groups: int, values: Array) -> Array:
        """Sum values of rows that go left, by group and candidate.

        Parameters
        ----------
        offered : Candidates
            M of them.
        group : ndarray
            (N,) int, the group of each row; negative for none.
        groups : int
            S.
        values : ndarray
            (V, N) int32, whose sums are below 2^53.

        Returns
        -------
        ndarray
            (S, M, V) int64.
        """
        width, rows = self.most + 1, np.flatnonzero(group >= 0)
        base, taken = group[rows].astype(np.int64) * width, values[:, rows].astype(np.float64)
        made = np.empty((groups, len(offered.column), len(values)), np.int64)
        for column in np.unique(offered.column):
            at = np.flatnonzero(offered.column == column)
            cells = base + self.codes[column][rows]
            for number, value in enumerate(taken):
                sums = np.bincount(cells, value, groups * width).reshape(groups, width)
                left = sums[:, :-1].cumsum(1)[:, offered.bin[at]]
                made[:, at, number] = left + sums[:, -1:] * offered.missing_left[at]
        return made

    def missing(self, column: int, rows: Array) -> NDArray[np.bool_]:
        """Tell which of some rows, (R,), have no value in a column."""
        lacks: NDArray[np.bool_] = self.codes[column][rows] == self.most
        return lacks

    def goes_left(self, offered: Candidates, number: int, rows: Array) -> NDArray[np.bool_]:
        """Tell which of some rows, (R,), go left of a candidate."""
        codes = self.codes[offered.column[number]][rows]
        missing = codes == self.most
        left: NDArray[np.bool_] = codes <= offered.bin[number]
        return np.where(missing, offered.missing_left[number], left)


def _edges(column: Array, most: int) -> Array:
    """Return a column's thresholds: between its values, or at quantiles."""
    known, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    at = np.arange(len(known) - 1)
    if len(known) > most:
        shares = counts.cumsum() / counts.sum()
        at = np.unique(np.searchsorted(shares, np.arange(1, most) / most))
        at = at[at < len(known) - 1]
    least, next_one = known[at], known[at + 1]
    middle = least / 2 + next_one / 2
    edges: Array = np.where(middle < next_one, middle, least)  # which rounding may not lift
    return edges
