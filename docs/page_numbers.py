"""Tables of the pages that have runs of their own."""

import json
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness.parts import days
from benchmarks.harness.report import Table
from benchmarks.harness.tables import RESULTS
from benchmarks.pages import SHOWN
from docs.benchmark_numbers import NONE

FILE = RESULTS / "pages.json"
SPREAD = " ±"
"""End of the name of a column with standard deviations."""


def shown(name: str, file: Path = FILE) -> str:
    """Return the tables of a block in Markdown, with date and versions.

    Parameters
    ----------
    name : str
        Name of the block; titles of its tables begin with it.
    file : Path, optional
        Result of ``python -m benchmarks.pages``.
    """
    measured: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"tables": ()}
    begin = f"{name}: "
    found = [each for each in measured["tables"] if each["title"].startswith(begin)]
    if not found:
        return f"{NONE}\n"
    told = f"Measured {days(measured, name)} with torch {measured['versions']['torch']}."
    parts = [joined(each, each["title"].removeprefix(begin)) for each in found]
    return "\n".join([told, "", *parts])


def joined(raw: dict[str, Any], title: str) -> str:
    """Return a table in Markdown, deviations beside their means."""
    table = Table(**raw)
    names = list(table.columns)
    means = [n for n, name in enumerate(names) if not name.endswith(SPREAD)]
    rows: list[list[Any]] = [[_joined(row, n, names) for n in means] for row in table.written()]
    columns = {names[n]: "" for n in means}
    return Table(f"{title[0].upper()}{title[1:]}:", columns, rows).markdown()


def _joined(row: list[str], n: int, names: list[str]) -> str:
    """Return a cell, with the deviation that follows it."""
    follows = names[n + 1 : n + 2] == [f"{names[n]}{SPREAD}"]
    return f"{row[n]} ± {row[n + 1]}" if follows and row[n + 1] else row[n]


ELSEWHERE = ("leakage-steps",)
"""Blocks whose rows are shown among those of another."""

MADE = {name: partial(shown, name) for name in SHOWN if name not in ELSEWHERE}
"""Functions that make the tables, by the block's name."""
