"""Tables of measurements on tabular data."""

import json
import re
from collections.abc import Callable, Collection
from functools import cache, partial
from typing import Any

from benchmarks.harness.report import Cell
from benchmarks.harness.table_runs import REFERENCES
from benchmarks.harness.tables import RESULTS
from benchmarks.tabular import VARIANTS

ENDS = (*REFERENCES, "central", "local")
"""Models that are no vertical federated learning."""

TITLES = {
    "pima": "Pima",
    "breast-cancer": "Breast Cancer",
    "adult": "Adult",
    "credit-default": "UCI default",
}
Row = dict[str, Cell]
MIB = 1 << 20


FILES = ("tabular.json", "tabular-steps.json")
"""The second has the methods that step on all rows, and the references once more."""


@cache
def result() -> dict[str, Any]:
    """Read the measurements."""
    found = [json.loads((RESULTS / name).read_text()) for name in FILES]
    tables = [table for each in found for table in each["tables"]]
    return {**found[0], "tables": tables}


def rows_of(measured: dict[str, Any]) -> dict[str, dict[str, Row]]:
    """Return the cells by data set, model and column."""
    found = dict[str, dict[str, Row]]()
    for table in measured["tables"]:
        dataset = table["title"].split(":")[0]
        for model, *cells in table["rows"]:
            names = list(table["columns"])[1:]
            row = dict(zip(names, cells, strict=True))
            found.setdefault(dataset, {}).setdefault(model, {}).update(row)
    return found


def splits_of(measured: dict[str, Any]) -> dict[str, int]:
    """Return the number of splits by data set."""
    titles = [re.fullmatch(r"(\S+): (\d+) splits", each["title"]) for each in measured["tables"]]
    return {found[1]: int(found[2]) for found in titles if found}


def ordered(rows: Collection[dict[str, Row]]) -> list[str]:
    """Return the models by group, each group from best to worst.

    Parameters
    ----------
    rows : collection of dict
        Cells by model, of one data set or several.
    """

    def place(name: str) -> tuple[int, float]:
        return _group(name), -sum(float(each[name]["ROC-AUC"] or 0) for each in rows)

    return sorted(next(iter(rows)), key=place)


def summary() -> str:
    """Return the ROC-AUC of every model on every data set."""
    measured = result()
    found, splits = rows_of(measured), splits_of(measured)
    heads = [f"{TITLES[name]}, {splits[name]} splits" for name in found]
    lines = [["", *heads], ["---"] * (len(heads) + 1)]
    for name in ordered(found.values()):
        lines += [[_shown(name), *(spread(rows[name], "ROC-AUC") for rows in found.values())]]
    return markdown(lines)


def details(dataset: str) -> str:
    """Return all numbers of a data set."""
    rows = rows_of(result())[dataset]
    scores = ["PR-AUC", "F1", "accuracy", "log-loss", "Brier"]
    heads = ["", "ROC-AUC", "against pooled regression", *scores, "MiB", "exchanges"]
    lines = [heads, ["---"] * len(heads)]
    for name in ordered([rows]):
        row = rows[name]
        costs = [f"{float(row['bytes'] or 0) / MIB:.1f}", f"{row['exchanges']:,.0f}"]
        costs = ["", ""] if name in ENDS else costs
        spreads = [spread(row, each) for each in scores]
        lines += [[_shown(name), spread(row, "ROC-AUC"), _difference(row), *spreads, *costs]]
    return markdown(lines)


MADE: dict[str, Callable[[], str]] = {
    "summary": summary,
    **{name: partial(details, name) for name in TITLES},
}
"""Functions that make the tables, by name."""


def _group(name: str) -> int:
    return 0 if name in ENDS else 2 if name in VARIANTS else 1


def _shown(name: str) -> str:
    """Return the name of a model; methods are code."""
    method, _, rest = name.partition(", ")
    if name in REFERENCES:
        return name
    return f"`{method}`" + (f", {rest}" if rest else "")


def spread(row: Row, name: str) -> str:
    """Return mean and standard deviation."""
    return f"{row[name]:.3f} ± {row[f'{name} std']:.3f}"


def _difference(row: Row) -> str:
    """Return the paired difference and half of its interval."""
    if not row["+-"]:
        return ""
    return f"{row['difference']:+.3f} ± {row['+-']:.3f}"


def markdown(lines: list[list[str]]) -> str:
    """Return lines of cells as a table."""
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
