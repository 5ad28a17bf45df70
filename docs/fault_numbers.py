"""Tables of outcomes of faults, for docs/reliability.md."""

import json
from functools import partial
from typing import Any

from benchmarks.harness.report import Report, Table
from benchmarks.harness.tables import RESULTS

NONE = "Nothing is measured yet."
LEFT_OUT = {"told", "date"}
"""Columns that are long, or the same in all rows."""


def measured(file: str) -> dict[str, Any]:
    """Read a measurement; empty if there is none."""
    path = RESULTS / f"{file}.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def table(file: str, word: str) -> Table | None:
    """Return the first table with a word in its title."""
    for each in measured(file).get("tables", ()):
        if word in each["title"].lower() and each["rows"]:
            return Table(**each)
    return None


def outcomes(file: str, word: str) -> str:
    """Return a table in Markdown under its title, without long columns."""
    found = table(file, word)
    if not found:
        return f"{NONE}\n"
    kept = [n for n, name in enumerate(found.columns) if name not in LEFT_OUT]
    columns = {name: form for name, form in found.columns.items() if name not in LEFT_OUT}
    rows = [[row[n] for n in kept] for row in found.rows]
    title = found.title.replace(",", ", ").replace(",  ", ", ")
    told = "" if word == "memory" else facts(file)
    return Table(f"{title[0].upper()}{title[1:]}:", columns, rows).markdown() + told


def facts(file: str) -> str:
    """Return single numbers of a measurement as a line, without dates."""
    known = measured(file).get("facts", {})
    report = Report(facts={k: v for k, v in known.items() if "date" not in k and v is not None})
    return f"\n{'; '.join(report.lines())}.\n" if report.facts else ""


OUTCOMES = {
    name: partial(outcomes, file, word)
    for name, (file, word) in {
        "kills": ("faults", "killed"),
        "damage": ("faults", "damaged"),
        "malformed": ("faults", "malformed"),
        "configurations": ("faults", "configurations"),
        "soak": ("soak", ""),
        "storm": ("storm", "what was done"),
        "flat": ("storm", "memory"),
    }.items()
}
"""Functions that make the tables, by name."""
