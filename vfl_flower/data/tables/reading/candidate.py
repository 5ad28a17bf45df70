"""Readings that a column of text may have, tried batch by batch."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

MOST_WORDS = 20
"""Different texts that cannot be read, after which nothing more is counted."""

_IN_VAIN = 1000
"""Cells without one that can be read, after which the column is something else."""

_LOOK = 256
"""Distinct texts that are read first, since most columns are none of what is tried."""


@dataclass
class Candidate:
    """One reading of a column, as far as its cells were seen.

    Attributes
    ----------
    read : callable
        From distinct text, without nulls, to numbers; NaN for what cannot be read.
    note : callable
        Called with the distinct text that can be read.
    right : int
        Cells that can be read.
    words : Counter of str
        What cannot be read, with the number of its cells.
    first : tuple of int and str, or None
        The first row, from 1, that cannot be read, and what it says.
    given_up : bool
        Whether nothing more is counted.
    """

    read: Callable[[pa.Array], NDArray[np.float64]]
    note: Callable[[pa.Array], None] = lambda text: None
    right: int = 0
    words: Counter[str] = field(default_factory=Counter)
    first: tuple[int, str] | None = None
    given_up: bool = False

    @property
    def fits(self) -> bool:
        """Whether all cells can be read."""
        return self.first is None and not self.given_up and self.right > 0

    @property
    def share(self) -> float:
        """Share of the cells that can be read; 0 if given up."""
        cells = self.right + self.words.total()
        return self.right / cells if cells and not self.given_up else 0.0

    def see(self, text: pa.Array, distinct: pa.Array, counts: NDArray[np.int64], row: int) -> None:
        """Look at the next rows.

        Parameters
        ----------
        text : pyarrow.StringArray
            (n,), null for no value.
        distinct : pyarrow.StringArray
            Its (u,) values.
        counts : ndarray of int64
            (u,): how often each is there.
        row : int
            Rows before these.
        """
        if self.given_up:
            return
        for part in (slice(_LOOK), slice(_LOOK, None)) if len(distinct) > _LOOK else (slice(None),):
            if not self.given_up:
                self._see(text, distinct[part], counts[part], row)

    def _see(self, text: pa.Array, distinct: pa.Array, counts: NDArray[np.int64], row: int) -> None:
        odd = np.isnan(self.read(distinct))
        self.right += int(counts[~odd].sum())
        if odd.any():
            left = distinct.filter(pa.array(odd))
            if self.first is None:
                place = pc.index(pc.is_in(text, left), True).as_py()
                self.first = row + place + 1, text[place].as_py()
            if len(left) > MOST_WORDS:
                self.given_up = True
                return
            self.words.update(dict(zip(left.to_pylist(), counts[odd].tolist(), strict=True)))
            in_vain = not self.right and self.words.total() >= _IN_VAIN
            self.given_up = len(self.words) > MOST_WORDS or in_vain
        if not odd.all():
            self.note(distinct.filter(pa.array(~odd)))
