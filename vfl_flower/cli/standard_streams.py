"""Standard input and standard output in the place of files, as ``-``."""

import os
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import Any

import tomli_w

from vfl_flower.common.errors import ConfigError, DataError, RunError
from vfl_flower.config.dataset_specs import is_table
from vfl_flower.config.schema import split_list
from vfl_flower.data.tables.description import described_at, table_keys
from vfl_flower.runs.seeds import first_run

STANDARD = "-"

_INPUT = "standard-input"
"""Name of the table in errors."""


@contextmanager
def with_input(tables: str | None, run: Path) -> Iterator[str | None]:
    """Give the tables of a prediction, the first perhaps from standard input.

    Parameters
    ----------
    tables : str or None
        Descriptions of all parties' new tables. ``-`` in the place of the first stands for a CSV
        table of which the same is said as of the active party's table at training.
    run : Path
        Of the run that predicts.

    Raises
    ------
    ConfigError
        If another party's table is ``-``, or there is no description that would tell of it.
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
    told = _told_at_training(run)
    with TemporaryDirectory(prefix="vfl-flower-") as temporary:
        table = Path(temporary) / f"{_INPUT}.csv"
        _read(table)
        description = table.with_suffix(".toml")
        description.write_text(tomli_w.dumps(told | {"file": table.name}), encoding="utf-8")
        yield ",".join([str(description), *named[1:]])


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


def _told_at_training(run: Path) -> dict[str, Any]:
    """Return the description of the active party's table of a run."""
    cfg = first_run(run).cfg
    if not cfg.own_tables:
        raise ConfigError(f"{run} is a run of {cfg.dataset}; say which of its rows, not tables")
    path = Path(cfg.table_of(0))
    try:
        described_at(path, 0, cfg.id, cfg.label)
    except ConfigError as error:
        raise ConfigError(
            f"standard input is described by the table of the run, and {error}; put it back, or "
            "describe the new table"
        ) from error
    if is_table(path.name):
        return table_keys(path, cfg.id, cfg.label)
    return tomllib.loads(path.read_text(encoding="utf-8-sig"))


def _read(path: Path) -> None:
    """Copy standard input into a file."""
    if sys.stdin is None or sys.stdin.isatty():
        raise DataError("standard input is a terminal; send a CSV table there, as in cat new.csv |")
    with path.open("wb") as file:
        copyfileobj(sys.stdin.buffer, file)
    if not path.stat().st_size:
        raise DataError("standard input is empty; its first line must name the columns")
