"""Distribution of each column of a party's own table."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfl_flower.data.columns import NUMBER, Column
from vfl_flower.data.tables.column_profile import MOST_CATEGORIES
from vfl_flower.data.tables.description import Description
from vfl_flower.data.tables.distributions.counts import Counts
from vfl_flower.data.tables.files import plain
from vfl_flower.data.tables.formats.opened import opened
from vfl_flower.data.tables.reader import Looked, OwnTable

_BINS = 24
"""Of a histogram, at most."""

_BARS = 10
"""Values with a bar of their own."""

_BLOCK = 1 << 16
"""Rows whose distinct numbers are looked for at once."""


@dataclass(frozen=True)
class Distribution:
    """Cells of a column, counted.

    Attributes
    ----------
    column : Looked
        Name, type, use, reason and advice.
    rows : int
    missing : int or None
        Rows without a value; None of a column that was not read.
    distinct : str
        How many values there are, in words; empty where it is not known.
    bars : tuple of str and int
        The most frequent values with their rows, the most frequent first.
    others : int
        Rows with other values.
    bins : tuple of int
        Rows by ranges of one width, of numbers and dates.
    low, high : str
        Where the first range begins, and the last one ends.
    note : str
        Why there is no picture.
    """

    column: Looked
    rows: int
    missing: int | None = None
    distinct: str = ""
    bars: tuple[tuple[str, int], ...] = ()
    others: int = 0
    bins: tuple[int, ...] = ()
    low: str = ""
    high: str = ""
    note: str = ""


def distributions(description: Description, table: OwnTable, party: str) -> list[Distribution]:
    """Count the cells of all columns but the ids.

    Labels come first, then weights, then the columns in the order of the file. Of a column that is
    ignored unasked, values are counted if they come again. The file is read once more, if such a
    column is there.

    Parameters
    ----------
    description : Description
        Of the table.
    table : OwnTable
        As it was read from there.
    party : str
        Whose it is, for errors.

    Raises
    ------
    DataError
        If the file cannot be read, or is changed meanwhile.
    """
    counted = _counted(description, table, party)
    places = {column.name: place for place, column in enumerate(table.columns)}
    return [
        *_of_rows(description, table),
        *(
            _of_text(each, counted[each.name])
            if each.name in counted
            else _of_cells(each, table.columns[place], table.features[:, place])
            if (place := places.get(each.name)) is not None
            else Distribution(each, len(table.ids), note="not read")
            for each in table.looked
        ),
    ]


def _counted(description: Description, table: OwnTable, party: str) -> dict[str, Counts]:
    """Count the text of columns whose values the table does not keep."""
    hashed = {column.name for column in table.columns if column.kind == "hashed"}
    counted = {
        each.name: Counts(description.missing)
        for each in table.looked
        if each.name in hashed or (each.use == "ignored" and each.why != "stated")
    }
    if counted:
        with opened(description.file, party, description.separator) as file:
            for batch in file.batches(list(counted)):
                for name, counts in counted.items():
                    counts.see(batch[name])
    return counted


def _of_rows(description: Description, table: OwnTable) -> Iterator[Distribution]:
    """Count labels and weights."""
    if table.label is not None and table.labels is not None:
        parts = table.label.parts or (table.label,)
        for part, values in zip(parts, table.labels.reshape(len(table.ids), -1).T, strict=True):
            type_ = NUMBER if part.values is None else part.type
            yield _of_cells(Looked(part.name, type_, "label", table.task), part, values)
    if table.weights is not None:
        name = plain(description.weight)
        yield _of_cells(Looked(name, NUMBER, "weight", "stated"), Column(name), table.weights)


def _of_cells(looked: Looked, column: Column, cells: NDArray[Any]) -> Distribution:
    """Count numbers, hours, or places in the column's values."""
    there = cells[np.isfinite(cells)]
    missing = len(cells) - len(there)
    values = ("false", "true") if column.kind == "boolean" else column.values
    if values is None:
        low, high, bins = _histogram(there)
        written = _day if column.kind == "date" else _number
        shown = (written(low), written(high)) if bins else ("", "")
        return Distribution(looked, len(cells), missing, _distinct(there), (), 0, bins, *shown)
    counts = np.bincount(there.astype(np.int64), minlength=len(values))
    rows = Counter(dict(zip(values, counts.tolist(), strict=True)))
    return Distribution(looked, len(cells), missing, f"{np.count_nonzero(counts):,}", *_top(+rows))


def _of_text(looked: Looked, counts: Counts) -> Distribution:
    missing = counts.rows - counts.filled
    if not counts.readable:
        return Distribution(looked, counts.rows, missing, note="no picture of cells of this type")
    distinct = f"{'over ' * counts.many}{len(counts.values):,}"
    if looked.use == "ignored" and 2 * len(counts.values) > counts.values.total():
        note = "most cells have a value of their own; none is shown" if counts.values else ""
        return Distribution(looked, counts.rows, missing, distinct, note=note)
    bars, _ = _top(counts.values)
    others = counts.filled - sum(rows for _, rows in bars)
    return Distribution(looked, counts.rows, missing, distinct, bars, others)


def _top(rows: Counter[str]) -> tuple[tuple[tuple[str, int], ...], int]:
    """Return the most frequent values, and the rows of all others."""
    bars = tuple(rows.most_common(_BARS if len(rows) != _BARS + 1 else _BARS + 1))
    return bars, rows.total() - sum(count for _, count in bars)


def _histogram(values: NDArray[Any]) -> tuple[float, float, tuple[int, ...]]:
    """Return the ends and the rows by range."""
    if not values.size:
        return 0.0, 0.0, ()
    low, high = float(values.min()), float(values.max())
    if low == high:
        return low, high, (values.size,)
    places = (values.astype(np.float64) - low) / (high - low)  # ranges of numbers may be tiny
    bins, _ = np.histogram(places, _BINS, (0, 1))
    return low, high, tuple(bins.tolist())


def _distinct(values: NDArray[Any]) -> str:
    """Count different numbers, as many as there are room for."""
    found = np.empty(0, values.dtype)
    for start in range(0, values.size, _BLOCK):
        found = np.union1d(found, values[start : start + _BLOCK])
        if len(found) > MOST_CATEGORIES:
            return f"over {MOST_CATEGORIES:,}"
    return f"{len(found):,}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) and abs(value) < 1e15 else f"{value:.6g}"


def _day(hour: float) -> str:
    return str(np.datetime64(int(hour // 24), "D"))
