"""Encoder of a table's columns: fitted on training rows, kept as JSON.

Where a number is missing, the column's median stands, unless the method learns from gaps, and
numbers are then standardised. A category becomes a column of zeros and ones; so does a gap, if a
training row has one. A category, or a gap, that no training row has becomes zeros all over: a
column for it would have weights that were never trained. Dates become parts of the calendar and an
age; see `encoder_dates` and `encoder_hashed`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfl_flower.common.errors import DataError
from vfl_flower.common.files import json_bytes, read_json
from vfl_flower.common.json_schema import Named
from vfl_flower.data.columns import BOOLEAN, DATE, NUMBER, TEXT, Column
from vfl_flower.data.preprocessing.encoder_columns import (
    CATEGORICAL,
    GROUPED,
    NUMERIC,
    Categorical,
    Grouped,
    Matrix,
    Numeric,
)
from vfl_flower.data.preprocessing.encoder_dates import DATES, Dates, Scale
from vfl_flower.data.preprocessing.encoder_hashed import HASHED, Hashed

ENCODER = {"numeric": [NUMERIC], "categorical": [CATEGORICAL], "ignored": [str]}
"""The shape of its JSON."""

FURTHER = {"grouped": [GROUPED], "hashed": [HASHED], "dates": [DATES], "readings": Named(str)}
"""Keys that its JSON may have: only where there are such columns."""

CHUNK = 1 << 16
"""Rows that are encoded at a time, so that only the result is large."""

MOST_GROUPED = 100
"""Categories that have a column each, where rare ones share one."""


@dataclass(frozen=True)
class Encoder:
    """A fitted encoder of a table's columns.

    Attributes
    ----------
    numeric : tuple of Numeric
        What comes first; booleans that are read as numbers, too.
    categorical : tuple of Categorical
        What comes then.
    ignored : tuple of str
        Other columns of the file, known and not used.
    grouped : tuple of Grouped
        What follows the categorical columns.
    hashed : tuple of Hashed
        What follows those.
    dates : tuple of Dates
        What comes last.
    readings : mapping of str to str
        By name, the use with its detail of numeric columns that are not plain numbers.
    """

    numeric: tuple[Numeric, ...]
    categorical: tuple[Categorical, ...]
    ignored: tuple[str, ...] = ()
    grouped: tuple[Grouped, ...] = ()
    hashed: tuple[Hashed, ...] = ()
    dates: tuple[Dates, ...] = ()
    readings: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def fit(
        cls,
        table: Matrix,
        columns: Sequence[Column],
        train: NDArray[Any],
        party: str,
        ignored: Sequence[str] = (),
    ) -> "Encoder":
        """Fit an encoder on training rows.

        Parameters
        ----------
        table : ndarray of float32
            (N, m): numbers, and places in a column's values; NaN is a gap.
        columns : sequence of Column
            What they are, m of them.
        train : ndarray of int
            The training rows.
        party : str
            Whose they are, for errors.
        ignored : sequence of str
            What else the file has.

        Raises
        ------
        DataError
            If a column has no value in any training row.
        """
        made: dict[str, list[Any]] = {kind: [] for kind in _FITTED}
        readings = {}
        for place, column in enumerate(columns):
            sample = table[train, place]
            if np.isnan(sample).all():
                raise DataError(
                    f"{party}: column {column.name} has no value in any training row; leave it out"
                )
            kind = "numeric" if column.kind == "boolean" else column.kind
            made[kind].append(_FITTED[kind](column, sample))
            if kind == "numeric" and column.use not in ("", "numeric"):
                readings[column.name] = column.use
        fitted = {_KEYS.get(kind, kind): tuple(each) for kind, each in made.items()}
        return cls(ignored=tuple(ignored), readings=readings, **fitted)

    @cached_property
    def width(self) -> int:
        """How many columns come out."""
        return len(self.numeric) + sum(each.width for each in self._parts)

    @cached_property
    def uses(self) -> dict[str, str]:
        """Use of each column with its detail, by name."""
        uses = {each.name: "numeric" for each in self.numeric} | dict(self.readings)
        uses |= {each.name: "categorical" for each in self.categorical}
        uses |= {each.name: f"grouped:{each.least}" for each in self.grouped}
        uses |= {each.name: "hashed" for each in self.hashed}
        return uses | {each.name: f"date:{each.order}".rstrip(":") for each in self.dates}

    @cached_property
    def categories(self) -> dict[str, Categorical | Grouped]:
        """Columns of categories, by name."""
        both: tuple[Categorical | Grouped, ...] = (*self.categorical, *self.grouped)
        return {each.name: each for each in both}

    @property
    def sources(self) -> tuple[str, ...]:
        """The table's column that each encoded column is made of, (width,)."""
        numbers = tuple(each.name for each in self.numeric)
        return numbers + tuple(each.name for each in self._parts for _ in range(each.width))

    @property
    def _parts(self) -> Iterator[Categorical | Grouped | Hashed | Dates]:
        """All but numeric columns, in output order."""
        return chain(self.categorical, self.grouped, self.hashed, self.dates)

    def check(self, types: Mapping[str, str], party: str) -> None:
        """Refuse a file that lacks columns of the encoder, or has others.

        Parameters
        ----------
        types : mapping of str to str
            By name, what the file's columns hold, less ids and labels; text does for categories
            of any type.
        party : str
            Whose file it is.

        Raises
        ------
        DataError
            If a column is missing, unknown, or of another type than at training.
        """
        trained = {
            each.name: type_of_reading(self.readings.get(each.name, "")) for each in self.numeric
        }
        trained |= dict.fromkeys((each.name for each in self.dates), DATE)
        of_text = {each.name: each.type for each in (*self.categories.values(), *self.hashed)}
        trained |= of_text
        for name, type_ in trained.items():
            where = f"{party}: column {name} was of type {type_} at training, and"
            if name not in types:
                raise DataError(f"{where} is missing now; add it")
            as_text = types[name] == TEXT and name in of_text  # which categories may come as
            if types[name] != type_ and not as_text and not _both_amounts(type_, types[name]):
                raise DataError(f"{where} is of type {types[name]} now; write it as it was")
        for name in types:
            if name not in trained and name not in self.ignored:
                raise DataError(
                    f"{party}: column {name}, of type {types[name]}, was not there at training; "
                    "remove it, or say that it is ignored"
                )

    def apply(self, table: Matrix, columns: Sequence[Column], *, gaps: bool = False) -> Matrix:
        """Encode rows.

        Parameters
        ----------
        table : ndarray of float32
            (N, m), of any rows.
        columns : sequence of Column
            Those that it was fitted on, in any order, with values of their own.
        gaps : bool
            Whether missing numbers and dates stay NaN.

        Returns
        -------
        ndarray of float32
            (N, width): first all numbers, then the categories.
        """
        encoded = np.zeros((len(table), self.width), np.float32)
        place = {column.name: number for number, column in enumerate(columns)}
        for start in range(0, len(table), CHUNK):
            rows, made = table[start : start + CHUNK], encoded[start : start + CHUNK]
            if self.numeric:
                numbers = rows[:, [place[each.name] for each in self.numeric]]
                made[:, : len(self.numeric)] = self._scaled(numbers, gaps)
            begin = len(self.numeric)
            for each in self._parts:
                number, stop = place[each.name], begin + each.width
                each.fill(made[:, begin:stop], columns[number], rows[:, number])
                if gaps and isinstance(each, Dates):
                    made[np.isnan(rows[:, number]), begin:stop] = np.nan
                begin = stop
        return encoded

    def unseen(self, table: Matrix, columns: Sequence[Column]) -> dict[str, NDArray[np.bool_]]:
        """Mark rows, (N,), with an unseen category or gap, by column.

        Columns without such a row are not named.
        """
        place = {column.name: number for number, column in enumerate(columns)}
        marked = {}
        for each in self._parts:
            number = place[each.name]
            marked[each.name] = each.unseen(columns[number], table[:, number])
        return {name: rows for name, rows in marked.items() if rows.any()}

    def _scaled(self, numbers: Matrix, gaps: bool) -> Matrix:
        median, mean, deviation = np.array(
            [(each.median, each.mean, each.deviation) for each in self.numeric], np.float32
        ).T
        filled = numbers if gaps else np.where(np.isnan(numbers), median, numbers)
        scaled: Matrix = (filled - mean) / deviation
        return scaled

    def to_json(self) -> bytes:
        """Return it as JSON, which quotes the table's values."""
        kept = asdict(self)
        return json_bytes({key: each for key, each in kept.items() if each or key in ENCODER})

    @classmethod
    def load(cls, path: Path) -> "Encoder":
        """Read an encoder from its JSON file.

        Raises
        ------
        RunError
            If the file is missing or damaged.
        """
        kept = read_json(path, ENCODER)
        kept = read_json(path, ENCODER | {key: FURTHER[key] for key in FURTHER if key in kept})
        return cls(
            tuple(Numeric(**_only(each, NUMERIC)) for each in kept["numeric"]),
            tuple(Categorical(**_only(each, CATEGORICAL)) for each in kept["categorical"]),
            tuple(kept["ignored"]),
            tuple(Grouped(**_only(each, GROUPED)) for each in kept.get("grouped", ())),
            tuple(Hashed(**_only(each, HASHED)) for each in kept.get("hashed", ())),
            tuple(_dates(_only(each, DATES)) for each in kept.get("dates", ())),
            kept.get("readings", {}),
        )


_FITTED: dict[str, Callable[[Column, Matrix], Any]] = {
    "numeric": lambda column, sample: Numeric.fit(column.name, sample),
    "categorical": Categorical.fit,
    "grouped": partial(Grouped.fit, most=MOST_GROUPED),
    "hashed": Hashed.fit,
    "date": Dates.fit,
}
_KEYS = {"date": "dates"}


def type_of_reading(reading: str) -> str:
    """Return the type of the cells that became numbers."""
    use, _, unit = reading.partition(":")
    return BOOLEAN if use == "boolean" else f"{NUMBER} in {unit}" if unit else NUMBER


def _both_amounts(before: str, now: str) -> bool:
    """Tell whether one is a currency's, the other without a unit."""
    given = {before, now} - {NUMBER}
    return len(given) == 1 and given.pop().startswith(f"{NUMBER} in ") and "%" not in before + now


def _only(kept: Mapping[str, Any], shape: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a shape, lists as tuples."""
    picked = {key: kept[key] for key in shape}
    return {key: tuple(each) if isinstance(each, list) else each for key, each in picked.items()}


def _dates(kept: dict[str, Any]) -> Dates:
    scales = {key: Scale(kept[key]["mean"], kept[key]["deviation"]) for key in ("year", "age")}
    return Dates(**kept | scales)
