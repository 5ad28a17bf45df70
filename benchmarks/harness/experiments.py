"""Named experiments, each in a folder of its own."""

import contextlib
import io
import json
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.harness.benchmark import Arguments
from benchmarks.harness.report import Cell, Table
from vfl_flower.cli.main import run
from vfl_flower.common.layout import CONFIG

Flags = Mapping[str, str | None]
"""Flags of ``run_simulation.py`` without their dashes; one that is None takes no value."""


def as_words(flags: Flags) -> list[str]:
    """Return flags as they stand on a command line."""
    return [part for key, value in flags.items() for part in (f"--{key}", value) if part]


def fill(
    table: Table,
    given: Arguments,
    flags_of: Callable[[str], Flags],
    row_of: Callable[[Path], list[Cell]],
) -> None:
    """Run experiments one after the other and add their rows.

    Parameters
    ----------
    table : Table
        Table whose first column has the names.
    given : Arguments
        Names, the folder of all runs (``out``) and the data sets' (``data_dir``).
    flags_of : callable
        Flags of an experiment.
    row_of : callable
        Cells behind the name, from the folder of a run.
    """
    with tempfile.TemporaryDirectory(prefix="vfl-flower-") as temporary:
        for name in given.names:
            folder = Path(given.out or temporary) / re.sub("[ :]", "-", name).replace(",", "")
            complete({**flags_of(name), "data-dir": given.data_dir}, folder)
            table.add(name, *row_of(folder))


def complete(flags: Flags, folder: Path) -> None:
    """Run an experiment, or resume an earlier attempt.

    Parameters
    ----------
    flags : mapping
        Of ``run_simulation.py``, but for ``out``.
    folder : Path
        Where it lies.
    """
    if (folder / "result.json").is_file():
        return
    begun = (folder / CONFIG).is_file()
    asked = {"resume": str(folder)} if begun else {**flags, "out": str(folder)}
    with contextlib.redirect_stdout(io.StringIO()):
        code = run(["train", *as_words(asked)])
    if code:
        raise SystemExit(code)


def result_of(flags: Flags, folder: Path) -> dict[str, Any]:
    """Complete an experiment, and read its result; see `complete`."""
    complete(flags, folder)
    result: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return result
