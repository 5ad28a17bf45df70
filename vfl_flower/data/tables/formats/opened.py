"""A table's file, opened by its suffix and watched for changes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from vfl_flower.common.errors import DataError
from vfl_flower.config.dataset_specs import CSV_FILES, PARQUET_FILES, is_table
from vfl_flower.data.tables.files import ParquetFile, TableFile
from vfl_flower.data.tables.formats.csv_file import CsvFile

_UNREADABLE = (pa.ArrowException, UnicodeError, OverflowError)
"""Exceptions about cells, such as text that is not UTF-8 in a Parquet file."""


@contextmanager
def opened(path: Path, party: str, separator: str = "") -> Iterator[TableFile]:
    """Open a table, and see that nobody writes to it meanwhile.

    Parameters
    ----------
    path : Path
        A file that ends like one of `CSV_FILES` or `PARQUET_FILES`.
    party : str
        Whose it is, for errors.
    separator : str
        Of a CSV file's fields; empty: found out.

    Raises
    ------
    DataError
        If it is missing, no table, damaged, or was changed before the block ended.
    """
    if not is_table(path.name):
        known = ", ".join(CSV_FILES + PARQUET_FILES)
        raise DataError(f"{party}: {path.name} must end in {known}")
    before = _stamp(path, party)
    try:
        packed = path.suffix.lower() in PARQUET_FILES
        yield ParquetFile(path, party) if packed else CsvFile(path, party, separator)
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
