"""CSV files, read in record batches.

All cells come as text, since a guess from the first rows may be wrong further down.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

import pyarrow as pa
import pyarrow.csv

from vfl_flower.common.errors import DataError
from vfl_flower.data.tables.files import TableFile
from vfl_flower.data.tables.formats.compressed import (
    DAMAGED,
    GZIP,
    LONGEST,
    looked_through,
    unpacked,
)

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
"""Separators that are found out, by character."""

_LOOKED_AT = 20  # rows, to tell the separator
_BATCH, _LARGEST = 1 << 20, 1 << 24
"""Bytes of a batch, and of one with long lines."""

_RAGGED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+): (.*)", re.DOTALL)
"""What Arrow says of a row that has more or fewer fields than there are names."""

_ROWS = 256
"""Rows of a batch of long lines, since each batch costs time for every column."""


class CsvFile(TableFile):
    """CSV file in UTF-8 with a header, perhaps compressed with gzip.

    Parameters
    ----------
    path : Path
    party : str
        Whose it is, for errors.
    separator : str
        Of fields, one character; empty: that of `SEPARATORS` that fits best.
    """

    def __init__(self, path: Path, party: str, separator: str = "") -> None:
        self._stated = separator
        super().__init__(path, party)

    def _names(self) -> list[str]:
        try:
            self._check_text()
            with io.TextIOWrapper(unpacked(self.path), encoding="utf-8-sig", newline="") as file:
                heads = {each: _head(file, each) for each in self._stated or SEPARATORS}
        except DAMAGED as error:
            raise self.refused("is no whole gzip file; compress it again", error) from error
        except OSError as error:
            raise self.refused("cannot be read", error) from error
        self._separator = max(heads, key=lambda each: _fields(heads[each]))
        names, *_ = heads[self._separator] or [[]]
        if not names and self._longest > csv.field_size_limit():
            raise self.refused(
                f"has a name of more than {csv.field_size_limit():,} characters in its first line, "
                "which must name the columns"
            )
        if not names:
            raise self.refused("is empty; its first line must name the columns")
        return names

    def lacks(self, name: str) -> str:
        """Say that a column is missing, perhaps for an unknown separator."""
        if len(self.names) > 1:
            return super().lacks(name)
        if self._stated:
            return f"has one column, and none '{name}', if '{self._stated}' is the separator"
        known = ", ".join(SEPARATORS.values())
        return (
            f"has one column, and none '{name}': separators of columns are {known}; use one, or "
            "say separator in the description"
        )

    def type_of(self, name: str) -> pa.DataType | None:
        """Return None: CSV has no types."""
        return None

    def batches(self, wanted: Sequence[str]) -> Iterator[dict[str, pa.Array]]:
        """Yield batches of about a mebibyte, more for long lines, as text."""
        written = self._as_written(wanted)
        try:
            with self._opened(list(written.values())) as reader:
                for batch in reader:
                    yield {name: batch.column(there) for name, there in written.items()}
        except (OSError, pa.ArrowException) as error:
            if ragged := _RAGGED.search(str(error)):
                raise self._ragged(ragged) from error
            if "straddling" in str(error):
                raise self.refused(
                    f"has a row of more than {self._batch >> 20} MiB; is a quote missing?"
                ) from error
            raise self.refused("is no whole CSV file; write it again", error) from error

    @contextmanager
    def _opened(self, written: list[str]) -> Iterator[pa.csv.CSVStreamingReader]:
        read = pa.csv.ReadOptions(  # with threads, rows have no numbers
            use_threads=False, block_size=self._batch
        )
        # A handler of invalid rows would do, but a thread of Arrow's lets go of it, perhaps while
        # Python ends, which aborts the process.
        parse = pa.csv.ParseOptions(delimiter=self._separator, newlines_in_values=True)
        convert = pa.csv.ConvertOptions(
            column_types=dict.fromkeys(written, pa.string()), include_columns=written
        )
        compression = "gzip" if self.path.suffix.lower() == GZIP else None
        with (
            pa.input_stream(self.path, compression=compression) as stream,
            pa.csv.open_csv(stream, read, parse, convert) as reader,
        ):
            yield reader

    def _ragged(self, found: re.Match[str]) -> DataError:
        line, names, fields, text = found.groups()
        return self.refused(
            f"has {fields} fields in row {int(line) - 1}, and {names} names; a text with the "
            "separator in it belongs in quotes",
            text,
        )

    def _check_text(self) -> None:
        """Refuse binary files, bombs, and text that ends within quotes.

        pyarrow would take them. Of a text that is not UTF-8 it would print its own errors.
        """
        found = looked_through(self.path)
        if found.binary:
            raise self.refused("is no text; export the table as CSV in UTF-8")
        if found.foreign:
            raise self.refused(
                f"is not in UTF-8, first in line {found.foreign:,}; save it as CSV in UTF-8"
            )
        if found.bomb:
            raise self.refused(
                "is more than 200 times as large once it is unpacked; unpack it, if that is right"
            )
        if found.longest > LONGEST:
            raise self.refused(f"has a line of more than {LONGEST >> 20} MiB; is it a table?")
        if found.quotes % 2:
            raise self.refused('ends within quotes; write it again, with "" for a " in quotes')
        self._longest = found.longest
        self._batch = max(min(_ROWS * found.longest, _LARGEST), _BATCH, 2 * found.longest)


def _head(file: TextIO, separator: str) -> list[list[str]]:
    """Return the first rows of a CSV file."""
    file.seek(0)
    rows: list[list[str]] = []
    with suppress(csv.Error):  # a field beyond csv's limit, for a wrong separator perhaps
        for row in csv.reader(file, delimiter=separator):
            rows += [row] if row else []
            if len(rows) == _LOOKED_AT:
                break
    return rows


def _fields(rows: list[list[str]]) -> tuple[int, int]:
    """Count the fields of all rows, and of the first.

    0 stands for rows that differ.
    """
    counts = [len(row) for row in rows] or [0]
    alike = counts[0] > 1 and len(set(counts)) == 1
    return counts[0] if alike else 0, counts[0]
