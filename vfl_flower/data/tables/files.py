"""CSV and Parquet files, read in record batches.

A CSV file's cells all come as text, since a guess from its first rows may be wrong further down; a
Parquet file says what its columns are.
"""

import csv
import os
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from vfl_flower.common.errors import DataError
from vfl_flower.data.tables.description import TABLES

ROWS = 1 << 16
"""Of a Parquet batch; a CSV batch is of about a mebibyte."""

_UNREADABLE = (pa.ArrowException, UnicodeError, OverflowError)
"""Exceptions about cells, such as text that is not UTF-8 in a Parquet file."""

_SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
_LOOKED_AT = 20  # rows, to tell the separator
CSV, _PARQUET = TABLES[:3], TABLES[3:]


class TableFile:
    """An open table.

    Attributes
    ----------
    path : Path
    party : str
        Whose it is, for errors.
    names : tuple of str
        The columns, in order; none is there twice.
    """

    def __init__(self, path: Path, party: str) -> None:
        self.path = path
        self.party = party
        self.written = self._names()
        self.names = tuple(plain(name) for name in self.written)
        if twice := [name for place, name in enumerate(self.names) if name in self.names[:place]]:
            raise self.refused(f"has two columns of the name '{twice[0]}'; rename one")
        if "" in self.names:
            raise self.refused(f"has no name for column {self.names.index('') + 1}; name it")

    def _names(self) -> list[str]:
        """Return the columns' names as they are written."""
        raise NotImplementedError

    def type_of(self, name: str) -> pa.DataType | None:
        """Return the declared type of a column, None if there is none."""
        raise NotImplementedError

    def batches(self, wanted: Sequence[str]) -> Iterator[dict[str, pa.Array]]:
        """Give the wanted columns of some rows after the other, by name.

        Raises
        ------
        DataError
            If the file is damaged.
        """
        raise NotImplementedError

    def lacks(self, name: str) -> str:
        """Say that a column is missing."""
        return f"has no column '{name}'; add or rename it"

    def refused(self, why: str, detail: object = "") -> DataError:
        """Return an error that names party and file."""
        return DataError(f"{self.party}: {self.path.name} {why}", str(detail))

    def _as_written(self, wanted: Sequence[str]) -> dict[str, str]:
        return {name: self.written[self.names.index(name)] for name in wanted}


class ParquetFile(TableFile):
    """A Parquet file."""

    def _names(self) -> list[str]:
        try:
            self._schema = pa.parquet.read_schema(self.path)
        except (OSError, pa.ArrowException) as error:
            raise self._damaged(error) from error
        return list(self._schema.names)

    def type_of(self, name: str) -> pa.DataType | None:
        """Return the declared type of a column."""
        declared = self._schema.field(self.names.index(name)).type
        return declared.value_type if pa.types.is_dictionary(declared) else declared

    def batches(self, wanted: Sequence[str]) -> Iterator[dict[str, pa.Array]]:
        """Give the wanted columns of up to `ROWS` rows after the other."""
        written = self._as_written(wanted)
        try:
            with pa.parquet.ParquetFile(self.path, page_checksum_verification=True) as file:
                for batch in file.iter_batches(ROWS, columns=list(written.values())):
                    yield {name: batch.column(there) for name, there in written.items()}
        except (OSError, pa.ArrowException) as error:
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> DataError:
        return self.refused("is no whole Parquet file; write it again", error)


class CsvFile(TableFile):
    """CSV file in UTF-8 with a header.

    Commas, semicolons or tabs separate fields.
    """

    def _names(self) -> list[str]:
        try:
            self._check_text()
            with self.path.open(encoding="utf-8-sig", newline="") as file:
                heads = {each: _head(file, each) for each in _SEPARATORS}
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise self.refused("cannot be read; save it as CSV in UTF-8", error) from error
        self._separator = max(_SEPARATORS, key=lambda each: _fields(heads[each]))
        if not heads[self._separator]:
            raise self.refused("is empty; its first line must name the columns")
        return heads[self._separator][0]

    def lacks(self, name: str) -> str:
        """Say that a column is missing, perhaps for an unknown separator."""
        if len(self.names) > 1:
            return super().lacks(name)
        known = ", ".join(_SEPARATORS.values())
        return f"has one column, and none '{name}': separators of columns are {known}; use one"

    def type_of(self, name: str) -> pa.DataType | None:
        """Return None: CSV has no types."""
        return None

    def batches(self, wanted: Sequence[str]) -> Iterator[dict[str, pa.Array]]:
        """Yield batches of about a mebibyte of the wanted columns, as text."""
        written = self._as_written(wanted)
        ragged: list[Any] = []
        try:
            with self._opened(list(written.values()), ragged) as reader:
                for batch in reader:
                    yield {name: batch.column(there) for name, there in written.items()}
        except (OSError, pa.ArrowException) as error:
            if ragged:
                raise self._ragged(ragged[0]) from error
            raise self.refused("is no whole CSV file in UTF-8; save it so", error) from error

    def _opened(self, written: list[str], ragged: list[Any]) -> pa.csv.CSVStreamingReader:
        def note(row: Any) -> str:  # noqa: ANN401
            ragged.append(row)
            return "error"

        return pa.csv.open_csv(
            self.path,
            pa.csv.ReadOptions(use_threads=False),  # with threads, rows have no numbers
            pa.csv.ParseOptions(
                delimiter=self._separator, newlines_in_values=True, invalid_row_handler=note
            ),
            pa.csv.ConvertOptions(
                column_types=dict.fromkeys(written, pa.string()), include_columns=written
            ),
        )

    def _ragged(self, row: Any) -> DataError:  # noqa: ANN401
        return self.refused(
            f"has {row.actual_columns} fields in row {row.number - 1}, and "
            f"{row.expected_columns} names; a text with the separator in it belongs in quotes",
            row.text,
        )

    def _check_text(self) -> None:
        """Refuse binary files, and text that ends within quotes.

        pyarrow would take both.
        """
        quotes = 0
        with self.path.open("rb") as file:
            while block := file.read(1 << 20):
                quotes += block.count(b'"')
                if b"\0" in block:
                    raise self.refused("is no text; export the table as CSV in UTF-8")
        if quotes % 2:
            raise self.refused('ends within quotes; write it again, with "" for a " in quotes')


def _head(file: TextIO, separator: str) -> list[list[str]]:
    """Return the first rows of a CSV file."""
    file.seek(0)
    rows = (row for row in csv.reader(file, delimiter=separator) if row)
    return list(islice(rows, _LOOKED_AT))


def _fields(rows: list[list[str]]) -> tuple[int, int]:
    """Count the fields of all rows, and of the first.

    0 stands for rows that differ.
    """
    counts = [len(row) for row in rows] or [0]
    alike = counts[0] > 1 and len(set(counts)) == 1
    return counts[0] if alike else 0, counts[0]


@contextmanager
def opened(path: Path, party: str) -> Iterator[TableFile]:
    """Open a table, and see that nobody writes to it meanwhile.

    Parameters
    ----------
    path : Path
        A file ending in .csv, .tsv, .txt, .parquet or .pq.
    party : str
        Whose it is, for errors.

    Raises
    ------
    DataError
        If it is missing, no table, damaged, or was changed before the block ended.
    """
    suffix = path.suffix.lower()
    if suffix not in _PARQUET + CSV:
        raise DataError(f"{party}: {path.name} must end in {', '.join(CSV + _PARQUET)}")
    before = _stamp(path, party)
    try:
        yield ParquetFile(path, party) if suffix in _PARQUET else CsvFile(path, party)
    except Exception as error:  # anything may come of half a file
        _check_unchanged(before, path, party, error)
        if isinstance(error, _UNREADABLE):
            text = f"{party}: {path.name} holds something that cannot be read; write it again"
            raise DataError(text, str(error)) from error
        raise
    _check_unchanged(before, path, party, None)


def _stamp(path: Path, party: str) -> tuple[int, ...]:
    """Fingerprint a file, to notice that it changes."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
    except (OSError, ValueError) as error:  # a folder, no permission; a NUL in a name
        raise DataError(f"{party}: {path.name} cannot be read", str(error)) from error
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _check_unchanged(
    before: tuple[int, ...], path: Path, party: str, cause: Exception | None
) -> None:
    if _stamp(path, party) != before:
        raise DataError(
            f"{party}: {path.name} was changed while it was read; start again when it is whole"
        ) from cause


def plain(text: str) -> str:
    """Return a name as one stripped line of NFC text."""
    return unicodedata.normalize("NFC", " ".join(text.split()))
