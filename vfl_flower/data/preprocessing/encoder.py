"""Encoder of a table's columns: fitted on training rows, kept as JSON.

Where a number is missing, the column's median stands, and numbers are then standardised. A category
becomes a column of zeros and ones; so does a gap, if a training row has one. A category, or a gap,
that no training row has becomes zeros all over: a column for it would have weights that were never
trained.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfl_flower.common.errors import DataError
from vfl_flower.common.files import json_bytes, read_json
from vfl_flower.data.columns import NUMBER, TEXT, Column
from vfl_flower.data.preprocessing.encoder_columns import NUMERIC, Categorical, Matrix, Numeric

ENCODER = {
    "numeric": [NUMERIC],
    "categorical": [{"name": str, "values": [str], "gap": bool, "type": str}],
    "ignored": [str],
}
"""The shape of its JSON."""

CHUNK = 1 << 16
"""Rows that are encoded at a time, so that only the result is large."""


@dataclass(frozen=True)
class Encoder:
    """A fitted encoder of a table's columns.

    Attributes
    ----------
    numeric : tuple of Numeric
        What comes first.
    categorical : tuple of Categorical
        What comes then.
    ignored : tuple of str
        Other columns of the file, known and not used.
    """

    numeric: tuple[Numeric, ...]
    categorical: tuple[Categorical, ...]
    ignored: tuple[str, ...] = ()

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
        numeric, categorical = [], []
        for place, column in enumerate(columns):
            sample = table[train, place]
            if np.isnan(sample).all():
                raise DataError(
                    f"{party}: column {column.name} has no value in any training row; leave it out"
                )
            if column.values is None:
                numeric.append(_scaling(column.name, sample))
            else:
                categorical.append(_categories(column, column.values, sample))
        return cls(tuple(numeric), tuple(categorical), tuple(ignored))

    @cached_property
    def width(self) -> int:
        """How many columns come out."""
        return len(self.numeric) + sum(each.width for each in self.categorical)

    @property
    def uses(self) -> dict[str, str]:
        """Use of each column, by name: numeric or categorical."""
        uses = {each.name: "numeric" for each in self.numeric}
        return uses | {each.name: "categorical" for each in self.categorical}

    @property
    def sources(self) -> tuple[str, ...]:
        """The table's column that each encoded column is made of, (width,)."""
        numbers = tuple(each.name for each in self.numeric)
        return numbers + tuple(each.name for each in self.categorical for _ in range(each.width))

    def category(self, name: str) -> Categorical:
        """Return a column of categories by its name."""
        return next(each for each in self.categorical if each.name == name)

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
        numeric = {each.name for each in self.numeric}
        trained = dict.fromkeys(numeric, NUMBER)
        trained |= {each.name: each.type for each in self.categorical}
        for name, type_ in trained.items():
            where = f"{party}: column {name} was of type {type_} at training, and"
            if name not in types:
                raise DataError(f"{where} is missing now; add it")
            as_text = types[name] == TEXT and name not in numeric  # which categories may come as
            if types[name] != type_ and not as_text:
                raise DataError(f"{where} is of type {types[name]} now; write it as it was")
        for name in types:
            if name not in trained and name not in self.ignored:
                raise DataError(
                    f"{party}: column {name}, of type {types[name]}, was not there at training; "
                    "remove it, or say that it is ignored"
                )

    def apply(self, table: Matrix, columns: Sequence[Column]) -> Matrix:
        """Encode rows.

        Parameters
        ----------
        table : ndarray of float32
            (N, m), of any rows.
        columns : sequence of Column
            Those that it was fitted on, in any order, with values of their own.

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
                made[:, : len(self.numeric)] = self._scaled(numbers)
            for begin, each in self._starts():
                number = place[each.name]
                ones = each.places(columns[number], rows[:, number])
                held = np.flatnonzero(ones < each.width)
                made[held, begin + ones[held]] = 1
        return encoded

    def unseen(self, table: Matrix, columns: Sequence[Column]) -> dict[str, int]:
        """Count rows with a category or gap unseen in training, by column."""
        place = {column.name: number for number, column in enumerate(columns)}
        counts = {}
        for each in self.categorical:
            number = place[each.name]
            ones = each.places(columns[number], table[:, number])
            counts[each.name] = int((ones == each.width).sum())
        return {name: count for name, count in counts.items() if count}

    def _scaled(self, numbers: Matrix) -> Matrix:
        median, mean, deviation = np.array(
            [(each.median, each.mean, each.deviation) for each in self.numeric], np.float32
        ).T
        scaled: Matrix = (np.where(np.isnan(numbers), median, numbers) - mean) / deviation
        return scaled

    def _starts(self) -> Iterator[tuple[int, Categorical]]:
        begin = len(self.numeric)
        for each in self.categorical:
            yield begin, each
            begin += each.width

    def to_json(self) -> bytes:
        """Return it as JSON, which quotes the table's values."""
        return json_bytes(asdict(self))

    @classmethod
    def load(cls, path: Path) -> "Encoder":
        """Read an encoder from its JSON file.

        Raises
        ------
        RunError
            If the file is missing or damaged.
        """
        kept = read_json(path, ENCODER)
        return cls(
            tuple(Numeric(**{key: each[key] for key in NUMERIC}) for each in kept["numeric"]),
            tuple(
                Categorical(each["name"], tuple(each["values"]), each["gap"], each["type"])
                for each in kept["categorical"]
            ),
            tuple(kept["ignored"]),
        )


def _scaling(name: str, sample: Matrix) -> Numeric:
    """Fit a column of numbers, (n,) with NaN for gaps.

    A column that does not vary is centred only.
    """
    median = np.nanmedian(sample)
    filled = np.where(np.isnan(sample), median, sample)
    mean = filled.mean(dtype=np.float64)
    deviation = np.float32(filled.std(dtype=np.float64)) or 1.0
    return Numeric(name, float(median), float(np.float32(mean)), float(deviation))


def _categories(column: Column, values: Sequence[str], sample: Matrix) -> Categorical:
    """Fit a column of places in `values`, (n,) with NaN for gaps."""
    gaps = np.isnan(sample)
    seen = np.unique(sample[~gaps]).astype(np.intp)
    known = tuple(values[place] for place in seen)
    return Categorical(column.name, known, bool(gaps.any()), column.type)
