"""Standard input and standard output in the place of files, as ``-``."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory

from vfl_flower.common.errors import ConfigError, DataError, RunError
from vfl_flower.config.schema import split_list

STANDARD = "-"

_INPUT = "standard-input.csv"
"""Name of the table in errors."""


@contextmanager
def with_input(tables: str | None) -> Iterator[str | None]:
    """Give the tables of a prediction, the first perhaps from standard input.

    Parameters
    ----------
    tables : str or None
        All parties' new tables. ``-`` in the place of the first stands for a CSV table without a
        description.

    Raises
    ------
    ConfigError
        If another party's table is ``-``.
    DataError
        If standard input is a terminal, or empty.
    """
    named = split_list(tables) if tables else []
    if STANDARD not in named:
        yield tables
        return
    if STANDARD in named[1:]:
        raise ConfigError(
            "- stands for the active party's table, the first, from standard input; name the "
            "descriptions of the others"
        )
    with TemporaryDirectory(prefix="vfl-flower-") as temporary:
        table = Path(temporary) / _INPUT
        _read(table)
        yield ",".join([str(table), *named[1:]])


@contextmanager
def with_output(out: Path) -> Iterator[Path]:
    """Give the path to write to, for ``-`` that of a copy.

    Meanwhile, whatever else is printed goes to standard error.

    Raises
    ------
    RunError
        If standard output cannot be written.
    """
    if str(out) != STANDARD:
        yield out
        return
    # rich is slow to import
    from vfl_flower.reporting.console.lines import aside

    with TemporaryDirectory(prefix="vfl-flower-") as temporary, aside():
        file = Path(temporary) / "predictions.csv"
        yield file
        try:
            with file.open("rb") as written:
                copyfileobj(written, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        except OSError as error:
            with suppress(OSError), Path(os.devnull).open("wb") as nowhere:
                os.dup2(nowhere.fileno(), sys.stdout.fileno())  # for what is left in its buffer
            raise RunError(f"standard output cannot be written: {error.strerror}") from error


def _read(path: Path) -> None:
    """Copy standard input into a file."""
    if sys.stdin is None or sys.stdin.isatty():
        raise DataError("standard input is a terminal; send a CSV table there, as in cat new.csv |")
    with path.open("wb") as file:
        copyfileobj(sys.stdin.buffer, file)
    if not path.stat().st_size:
        raise DataError("standard input is empty; its first line must name the columns")
