"""Published tables in local CSV files: categories become codes, gaps NaN."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vfl_flower.common.errors import AbsentDataError, DataError
from vfl_flower.data.columns import LARGEST, Column, Table
from vfl_flower.data.datasets import DataSet


@dataclass(frozen=True)
class Source:
    """The published form of a table.

    Attributes
    ----------
    folder : str
        Where its files belong in the data folder.
    files : tuple of str
        Whose rows are pooled in this order.
    published : str
        Who has them.
    fields : tuple of str
        What a row holds, in order.
    label : str
        The field with the class.
    classes : tuple of str
        The labels as they are written, in sorted order.
    positive : str
        Of two classes, the one that is to be found; empty: the rarer one.
    header : bool
        Whether the first line names the fields.
    ids : frozenset of str
        Fields that only tell rows apart, and are dropped.
    categorical : frozenset of str
        Fields whose values are names, even if they are written as numbers.
    gap : str
        What is written where there is no value; empty: there always is one.
    zero_gaps : frozenset of str
        Fields that cannot be 0, and are 0 where there is no value.
    label_end : str
        What may stand behind a label and is no part of it.
    comment : str
        What a line begins with that is no row.
    """

    folder: str
    files: tuple[str, ...]
    published: str
    fields: tuple[str, ...]
    label: str
    classes: tuple[str, ...]
    positive: str = ""
    header: bool = False
    ids: frozenset[str] = frozenset()
    categorical: frozenset[str] = frozenset()
    gap: str = ""
    zero_gaps: frozenset[str] = frozenset()
    label_end: str = ""
    comment: str = ""


def data_set(source: Source) -> DataSet:
    """Describe a table in local files."""
    return DataSet(
        len(source.classes),
        0,
        lambda folder, _: read(source, folder).features,
        lambda folder, _: read(source, folder).labels,
        columns=lambda folder, _: read(source, folder).columns,
        class_names=source.classes,
        positive=source.positive,
    )


def read(source: Source, folder: Path) -> Table:
    """Read all files of a table.

    Parameters
    ----------
    source : Source
        What they look like.
    folder : Path
        The data folder, in which the table has a folder of its own.

    Raises
    ------
    AbsentDataError
        If a file is missing, and then where it belongs and is published.
    DataError
        If one is damaged, and then in which line.
    """
    try:
        place = folder.resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a NUL in a name
        raise DataError(f"data-dir cannot be used: {error}") from error
    return _read(source, place)


@lru_cache(maxsize=1)  # features, labels and columns are asked for one after the other
def _read(source: Source, folder: Path) -> Table:
    reading = _Reading(source)
    for name in source.files:
        path = folder / source.folder / name
        if not path.is_file():
            raise AbsentDataError(
                f"{name} is not in {path.parent}; get it from {source.published} and put it there, "
                "or set data-dir (this data set is not downloaded)"
            )
        before = len(reading.rows)
        try:
            for line, row in _lines(path, source):
                reading.take(f"{path}, line {line}", row)
        except (OSError, ValueError, csv.Error) as error:  # no file, no text, no table
            raise DataError(f"{path} cannot be read as a table", str(error)) from error
        if len(reading.rows) == before:
            raise DataError(f"{path} holds no rows; get it again from {source.published}")
    return reading.table()


def _lines(path: Path, source: Source) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a file with their line numbers, header checked."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader, line, header = csv.reader(file), 1, source.header
        for row in reader:
            begun, line = line, reader.line_num + 1
            cells = [cell.strip() for cell in row]
            if not any(cells) or (source.comment and cells[0].startswith(source.comment)):
                continue
            if header and cells != list(source.fields):
                raise DataError(f"{path}, line {begun}: the fields must be {list(source.fields)}")
            if not header:
                yield begun, cells
            header = False


@dataclass
class _Reading:
    """Rows read so far; categories are numbered as they come."""

    source: Source
    rows: list[NDArray[np.float32]] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        left_out = {self.source.label} | self.source.ids
        self.kept = [name for name in self.source.fields if name not in left_out]
        self.codes: dict[str, dict[str, int]] = {
            name: {} for name in self.kept if name in self.source.categorical
        }

    def take(self, where: str, cells: list[str]) -> None:
        """Take one row."""
        if len(cells) != len(self.source.fields):
            raise DataError(f"{where}: {len(cells)} fields, not {len(self.source.fields)}")
        named = dict(zip(self.source.fields, cells, strict=True))
        label = named[self.source.label]
        if self.source.label_end:
            label = label.removesuffix(self.source.label_end)
        if label not in self.source.classes:
            known = " or ".join(self.source.classes)
            raise DataError(f"{where}: the label is not {known}", label[:20])
        self.labels.append(self.source.classes.index(label))
        values = [self._value(where, name, named[name]) for name in self.kept]
        self.rows.append(np.array(values, np.float32))

    def _value(self, where: str, name: str, text: str) -> float:
        """Return a number, a category's code, or NaN for a gap."""
        if self.source.gap and text == self.source.gap:
            return np.nan
        if not text:
            raise DataError(f"{where}: {name} is empty")
        if name in self.codes:
            return self.codes[name].setdefault(text, len(self.codes[name]))
        try:
            number = float(text)
        except ValueError:
            number = np.nan
        if not abs(number) <= LARGEST:  # nor NaN
            raise DataError(f"{where}: {name} must be a number", text[:20])
        return np.nan if number == 0 and name in self.source.zero_gaps else number

    def table(self) -> Table:
        """Return everything, with the categories of each column in sorted order."""
        features = np.stack(self.rows)
        columns = []
        for place, name in enumerate(self.kept):
            gaps = bool(self.source.gap) or name in self.source.zero_gaps
            values = None
            if name in self.codes:
                values = tuple(sorted(self.codes[name]))
                features[:, place] = _renumbered(features[:, place], self.codes[name], values)
            columns.append(Column(name, values, gaps))
        return Table(features, np.array(self.labels, np.int64), tuple(columns))


def _renumbered(
    column: NDArray[np.float32], codes: dict[str, int], values: tuple[str, ...]
) -> NDArray[np.float32]:
    """Turn codes by first appearance, (N,), into places in `values`; NaN stays."""
    places = np.full(len(values) + 1, np.nan, np.float32)  # the last is that of a gap
    for place, value in enumerate(values):
        places[codes[value]] = place
    return places[np.where(np.isnan(column), len(values), column).astype(np.intp)]
