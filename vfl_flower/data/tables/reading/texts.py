"""Readings of a column of text, and its different values."""

from collections.abc import Iterable
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vfl_flower.data.tables.reading.booleans import as_booleans
from vfl_flower.data.tables.reading.candidate import Candidate
from vfl_flower.data.tables.reading.dates import DAY_FIRST, DOUBTFUL, MONTH_FIRST, as_hours
from vfl_flower.data.tables.reading.marked_numbers import (
    PERCENT,
    groups_of,
    marked_numbers,
    units_of,
)

_WINDOW = 1 << 16
"""Cells in which different values are counted, where there are too many to keep them."""

MOST = 0.9
"""Share of cells that are numbers or dates, from which on a column is meant to be such."""


class Texts:
    """Readings that a column's text may have.

    Parameters
    ----------
    use : str
        What is said of the column, with its detail; empty: nothing.
    decimal : str
        The decimal mark of numbers.

    Attributes
    ----------
    numbers : Candidate
    dates : dict of str to Candidate
        By the order of day and month.
    booleans : Candidate
    units : set of str
        Of the numbers; the empty text stands for none.
    grouped, doubtful, clear : bool
        See `groups_of`.
    either : bool
        Whether a date has its day and its month in an order that it does not tell.
    """

    def __init__(self, use: str, decimal: str) -> None:
        self._decimal = decimal
        self.numbers = Candidate(partial(marked_numbers, decimal=decimal), self._note_marks)
        self.dates = {
            DAY_FIRST: Candidate(self._day_first, self._note_order),
            MONTH_FIRST: Candidate(self._month_first, self._note_order),
        }
        self.booleans = Candidate(as_booleans)
        self.units: set[str] = set()
        self.grouped = self.doubtful = self.clear = self.either = False
        kind, _, detail = use.partition(":")
        self._tried = {
            "": (self.numbers, *self.dates.values()),
            "numeric": (self.numbers,),
            "date": tuple(each for order, each in self.dates.items() if detail in ("", order)),
            "boolean": (self.booleans,),
        }.get(kind, ())
        self._seen = False
        self._last: tuple[pa.Array | None, NDArray[np.float64]] = None, np.empty(0)
        self._window = 0
        self._hashes: list[NDArray[np.int64]] = []

    @property
    def alive(self) -> bool:
        """Whether a reading is still possible."""
        return any(not each.given_up for each in self._tried)

    @property
    def wide(self) -> bool:
        """Whether different values are still to be counted."""
        return self._window < _WINDOW

    @property
    def differ(self) -> tuple[int, int]:
        """Different values, and the cells in which they were counted."""
        hashes = np.concatenate([np.empty(0, np.int64), *self._hashes])
        return len(np.unique(hashes)), self._window

    @property
    def orders(self) -> list[str]:
        """Orders of day and month in which all cells are dates."""
        return [order for order, each in self.dates.items() if each.fits]

    @property
    def meant(self) -> bool:
        """Whether most cells are numbers, or most are dates."""
        return any(each.share >= MOST for each in (self.numbers, *self.dates.values()))

    @property
    def marked(self) -> bool:
        """Whether numbers have units or separators."""
        return bool(self.units - {""}) or self.grouped

    @property
    def unit(self) -> str:
        """Unit of the numbers; empty for none."""
        return next(iter(self.units - {""}), "")

    @property
    def mixed(self) -> str:
        """Different units, in words; empty if there are none."""
        if len(self.units - {""}) > 1:
            return f"several units ({', '.join(sorted(self.units - {''}))})"
        percent = PERCENT in self.units and "" in self.units
        return "numbers with and without a percent sign" if percent else ""

    @property
    def doubt(self) -> str:
        """Why the numbers cannot be told; empty if they can."""
        return self.mixed or ("doubtful commas" if self.doubtful and not self.clear else "")

    @property
    def marks(self) -> str:
        """Unit and separators of the numbers, in words."""
        unit = f"in {self.unit}" if self.unit else ""
        separators = "with separators of thousands" if self.grouped else ""
        return " and ".join(filter(None, (unit, separators)))

    def see(self, text: pa.Array, row: int) -> None:
        """Look at the next rows; see `Candidate.see`.

        Of rows before the first ones, `numbers.right` are plain numbers.
        """
        if not self._seen and self.numbers.right:
            for each in self.dates.values():
                each.given_up = True
        self._seen = True
        counted = pc.value_counts(text.drop_null())
        distinct, counts = counted.field("values"), counted.field("counts").to_numpy()
        for each in self._tried if len(distinct) else ():
            each.see(text, distinct, counts, row)

    def count(self, values: Iterable[str], cells: int) -> None:
        """Count different values of some more cells."""
        self._hashes.append(np.fromiter(map(hash, values), np.int64))
        self._window += cells

    def _note_marks(self, text: pa.Array) -> None:
        if len(self.units) < 3:  # two are too many already
            self.units |= units_of(text, self._decimal)
        if not (self.grouped and (self.clear or self._decimal == ",")):
            grouped, doubtful, clear = groups_of(text, self._decimal)
            self.grouped, self.clear = self.grouped or grouped, self.clear or clear
            self.doubtful |= doubtful

    def _day_first(self, text: pa.Array) -> NDArray[np.float64]:
        self._last = text, as_hours(text, DAY_FIRST)
        return self._last[1]

    def _month_first(self, text: pa.Array) -> NDArray[np.float64]:
        """Read dates, those without doubt once for both orders."""
        if self._last[0] is text and not pc.any(pc.match_substring_regex(text, DOUBTFUL)).as_py():
            return self._last[1]
        return as_hours(text, MONTH_FIRST)

    def _note_order(self, text: pa.Array) -> None:
        if not self.either:
            found = pc.match_substring_regex(text, DOUBTFUL)
            self.either = bool(pc.any(found, min_count=0).as_py())
