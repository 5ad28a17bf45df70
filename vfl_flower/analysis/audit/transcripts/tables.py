"""Received and sent numbers of a run, by row.

Means of received ones; first and last of sent ones.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.protocol.components import Kind

Table = NDArray[np.float64]
Places = NDArray[np.int64]
"""Where a table has each row of the data set, (N,); -1: nowhere."""


def table_of(values: Tensor) -> Table:
    """Return a tensor's rows as a table: (n, ...) -> (n, width)."""
    table: Table = values.detach().cpu().flatten(1).double().numpy()
    return table


def places_of(rows: Array | None, count: int) -> Places:
    """Return the places of some rows, or of all."""
    if rows is None:
        return np.arange(count)
    places = np.full(count, -1)
    places[rows] = np.arange(len(rows))
    return places


@dataclass
class Sums:
    """Received numbers of one array of a phase, summed by row."""

    places: Places
    total: Table  # (n, width)
    times: NDArray[np.int64]  # (n,)

    @classmethod
    def empty(cls, places: Places, width: int) -> "Sums":
        """Return sums of nothing yet."""
        count = int(places.max(initial=-1)) + 1
        return cls(places, np.zeros((count, width)), np.zeros(count, np.int64))

    def add(self, rows: Array, table: Array) -> None:
        """Add a message: rows (B,), and their numbers (B, width)."""
        at = self.places[rows]
        self.total[at[at >= 0]] += table[at >= 0]
        self.times[at[at >= 0]] += 1

    def mean(self, rows: Array) -> Table:
        """Return the mean of some rows' received numbers: (B, width)."""
        at = self.places[rows]
        mean: Table = self.total[at] / np.maximum(self.times[at], 1)[:, None]
        return mean


@dataclass
class Sent:
    """One party's uploads of one phase, by row.

    Attributes
    ----------
    kind : {"embedding", "logits", "maps"}
        Of the upload.
    masked : bool
        Whether `words` travelled, and not `values`.
    values : ndarray of float32
        (n, width): the last of each row, as the active party can read them where nothing masks
        them; elsewhere as they were before masking, for whoever may know them.
    words : ndarray of uint32 or uint16
        (n, width): the last masked words of each row; none without masks.
    exchange : ndarray of int64
        (n,): the exchange of that upload; -1 before the first.
    first : tuple of ndarray, or None
        Rows and values of the very first upload, (B,) and (B, width).
    training : bool
        Whether the network learns from what comes of the upload.
    own_logits : bool
        Whether they are logits of training that no sum is taken of.
    """

    kind: Kind
    masked: bool
    values: Array
    words: Array
    exchange: NDArray[np.int64]
    first: tuple[Array, Array] | None = None
    training: bool = False
    own_logits: bool = False

    @classmethod
    def empty(cls, kind: Kind, count: int, values: Array, words: Array | None) -> "Sent":
        """Return uploads of no row yet, in a message's layout."""
        dtype = np.uint32 if words is None else words.dtype
        return cls(
            kind,
            words is not None,
            np.zeros((count, *values.shape[1:]), np.float32),
            np.zeros((count if words is not None else 0, *values.shape[1:]), dtype),
            np.full(count, -1),
        )

    def whole(self) -> bool:
        """Tell whether every row has been sent."""
        return bool((self.exchange >= 0).all())
