"""Counts of a column's values as text, gathered batch by batch."""

from collections import Counter
from dataclasses import dataclass, field
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc

from vfl_flower.data.columns import BOOLEAN, DATE, NUMBER, TEXT
from vfl_flower.data.tables.cells import known, type_name
from vfl_flower.data.tables.column_profile import MOST_CATEGORIES


@dataclass
class Counts:
    """Counts of text, as far as it was seen.

    Attributes
    ----------
    missing : tuple of str
        What stands for no value.
    rows, filled : int
        How many were seen, and those with a value.
    values : Counter of str
        Rows by value; the first `MOST_CATEGORIES` values that are met are counted.
    many : bool
        Whether there are more values.
    readable : bool
        Whether the cells are of a type that has text.
    """

    missing: tuple[str, ...]
    rows: int = 0
    filled: int = 0
    values: Counter[str] = field(default_factory=Counter)
    many: bool = False
    readable: bool = True

    def see(self, cells: pa.Array) -> None:
        """Count the next rows."""
        self.rows += len(cells)
        if type_name(cells.type) not in (NUMBER, BOOLEAN, TEXT, DATE):
            self.readable = False
            self.filled += len(cells) - cells.null_count
            return
        text = known(cells, self.missing).drop_null()
        self.filled += len(text)
        if self.many:
            text = text.filter(pc.is_in(text, pa.array(self.values, pa.string())))
        found = pc.value_counts(text)
        self.values.update(
            dict(zip(found.field(0).to_pylist(), found.field(1).to_pylist(), strict=True))
        )
        if len(self.values) > MOST_CATEGORIES:  # the first ones stay, and are counted from row 1
            self.values = Counter(dict(islice(self.values.items(), MOST_CATEGORIES)))
            self.many = True
