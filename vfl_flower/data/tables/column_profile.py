"""Profile of a column, gathered batch by batch."""

from dataclasses import dataclass, field
from functools import cached_property
from heapq import nsmallest

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vfl_flower.data.columns import BOOLEAN, DATE, LARGEST, NUMBER, TEXT
from vfl_flower.data.tables.cells import LEADING_ZERO, as_numbers, first_text, known, type_name
from vfl_flower.data.tables.description import Description
from vfl_flower.data.tables.reading.texts import Texts

MOST_CATEGORIES = 1000
"""Of a column that is said to be categorical, and of labels."""

_READ = ("date", "boolean")
"""Uses whose cells are read as text, numbers too."""


@dataclass
class Profile:
    """One column, as far as it was seen.

    Attributes
    ----------
    name, party : str
    declared : pyarrow.DataType or None
        What the file says that it holds.
    description : Description
        Of the table: what stands for no value, and the decimal mark.
    stated : str
        What is said of its use, with the detail; empty: nothing.
    rows : int
        How many were seen.
    filled : int
        Those with a value, as long as values are looked at; else 0.
    values : set of str
        The distinct values, as text.
    many : bool
        Whether there are more than `MOST_CATEGORIES`, of which `values` has the first in order.
    text : tuple of int and str, or None
        The first row, from 1, that is no number, and what it says.
    unbounded : int
        The first row, from 1, whose number is infinite or beyond float32; 0: none.
    coded : bool
        Whether text begins with a zero that no number begins with.
    """

    name: str
    party: str
    declared: pa.DataType | None
    description: Description
    stated: str = ""
    rows: int = 0
    filled: int = 0
    values: set[str] = field(default_factory=set)
    many: bool = False
    text: tuple[int, str] | None = None
    unbounded: int = 0
    coded: bool = False

    @property
    def type(self) -> str:
        """Type of the cells: `NUMBER`, `BOOLEAN`, `TEXT`, `DATE`, or an unusable one."""
        if self.declared is not None:
            return type_name(self.declared)
        return TEXT if self.text or self.coded else NUMBER

    @property
    def usable(self) -> bool:
        """Whether the cells can be numbers or classes."""
        return self.type in (NUMBER, BOOLEAN, TEXT)

    @property
    def distinct(self) -> str:
        """How many values there are, in words."""
        return f"over {MOST_CATEGORIES:,}" if self.many else f"{len(self.values):,}"

    @cached_property
    def texts(self) -> Texts:
        """Readings of the cells as text."""
        return Texts(self.stated, self.description.decimal)

    @property
    def scattered(self) -> bool:
        """Whether more than half of the cells have values of their own."""
        if not self.many:
            return 2 * len(self.values) > self.filled
        values, cells = self.texts.differ
        return 2 * values > cells

    def see(self, cells: pa.Array) -> None:
        """Look at the next rows."""
        if self.usable:
            if self.declared is None and not self.coded:
                found = pc.match_substring_regex(cells, LEADING_ZERO)
                self.coded = bool(pc.any(found, min_count=0).as_py())
            if self.text is None:
                self._see_numbers(cells)
            self._see_text(cells)
        elif self.type == DATE:
            self.filled += len(cells) - cells.null_count
        self.rows += len(cells)

    def _see_text(self, cells: pa.Array) -> None:
        is_text = self.type == TEXT
        read = (is_text or self.stated.partition(":")[0] in _READ) and self.texts.alive
        wide = self.many and is_text and not self.stated and self.texts.wide
        if self.many and not wide and not read:
            return
        text = known(cells, self.description.missing)
        filled = len(text) - text.null_count
        if read:
            self.texts.see(text, self.rows)
        if wide:
            self.texts.count(pc.unique(text).drop_null().to_pylist(), filled)
        if not self.many:
            self.filled += filled
            self._see_values(text)

    def _see_values(self, text: pa.Array) -> None:
        self.values.update(pc.unique(text).drop_null().to_pylist())
        if len(self.values) > MOST_CATEGORIES:
            if self.type == TEXT and not self.stated:
                self.texts.count(self.values, self.filled)
            self.many, self.values = True, set(nsmallest(MOST_CATEGORIES, self.values))

    def _see_numbers(self, cells: pa.Array) -> None:
        missing, decimal = self.description.missing, self.description.decimal
        try:
            numbers = as_numbers(cells, missing, decimal)
        except pa.ArrowInvalid:
            place, text = first_text(cells, missing, decimal)
            self.text = self.rows + place + 1, text
            return
        if self.declared is None and not self.coded:
            self.texts.numbers.right += int(np.count_nonzero(numbers == numbers))
        far = np.abs(numbers) > LARGEST
        if not self.unbounded and far.any():
            self.unbounded = self.rows + int(far.argmax()) + 1
