"""Measured numbers of each method, for its page."""

import json
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from benchmarks.harness.parts import days
from benchmarks.harness.report import Table
from benchmarks.harness.tables import RESULTS
from benchmarks.reproducing.plan import papers
from docs import tabular_numbers as tabular
from vfl_flower.config.registry import METHODS

SAME = "../../benchmarks/results.md#all-methods-on-the-same-images"
TABLES = "../tabular.md"
PAPERS = "../reproduction/{}.md"


@cache
def result() -> dict[str, Any]:
    """Read the measurement of all methods on the same images."""
    found: dict[str, Any] = json.loads((RESULTS / "methods.json").read_text())
    return found


def images() -> str:
    """Return accuracy, bytes and exchanges of all methods on the same images."""
    rows = [
        [f"`{name}`", f"{mean:.2f} ± {std:.2f}", f"{mib:,.1f}", f"{exchanges:,}"]
        for name, mean, std, mib, exchanges, _ in result()["tables"][0]["rows"]
    ]
    heads = ["method", "test accuracy, %", "MiB", "exchanges"]
    return f"{_origin()}\n\n" + tabular.markdown([heads, ["---"] * len(heads), *rows])


def _origin() -> str:
    measured = result()
    given, versions = measured["options"], measured["versions"]
    return (
        f"Measured {days(measured)} with torch {versions['torch']}: {given['parties']} "
        f"parties, {given['epochs']} epochs, means ± standard deviations of {given['seeds']} seeds."
    )


def rounding() -> str:
    """Return the difference of masked and unmasked training, by optimizer."""
    measured = json.loads((RESULTS / "rounding.json").read_text())
    told = f"Measured {days(measured)} with torch {measured['versions']['torch']}."
    return f"{told}\n\n" + Table(**measured["tables"][0] | {"title": ""}).markdown().lstrip()


def of_method(name: str) -> str:
    """Return the numbers of one method, and links to papers."""
    lines = [["data", "measure", "result"], ["---"] * 3, *_of_images(name), *_of_tables(name)]
    parts = [tabular.markdown(lines)]
    if beside := _papers_with(name):
        parts.append(f"Claims of papers beside ours: {', '.join(beside)}.\n")
    return "\n".join(parts)


def _of_images(name: str) -> list[list[str]]:
    given, rows = result()["options"], result()["tables"][0]["rows"]
    what = f"[MNIST]({SAME}), {given['epochs']} epochs, {given['seeds']} seeds"
    _, mean, std, mib, exchanges, _ = next(row for row in rows if row[0] == name)
    lines = [[what, "test accuracy", f"{mean:.2f} ± {std:.2f} %"]]
    sent = f"{mib:,.1f} MiB in {exchanges:,} exchanges"
    return [*lines, ["", "sent in training", sent]] if exchanges else lines


def _of_tables(name: str) -> list[list[str]]:
    measured = tabular.result()
    splits = tabular.splits_of(measured)
    return [
        [
            f"[{tabular.TITLES[dataset]}]({TABLES}#{_anchor(dataset)}), {splits[dataset]} splits",
            "ROC-AUC",
            tabular.spread(rows[name], "ROC-AUC"),
        ]
        for dataset, rows in tabular.rows_of(measured).items()
        if name in rows
    ]


def _anchor(dataset: str) -> str:
    return tabular.TITLES[dataset].lower().replace(" ", "-")


def _papers_with(method: str) -> list[str]:
    """Return links to the papers that compare a method."""
    return [
        f"[{paper.title}]({PAPERS.format(name)})"
        for name, paper in papers().items()
        if any(each.flags["method"] == method for each in paper.experiments.values())
    ]


METHOD_PAGES = tuple(f"methods/{name}.md" for name in METHODS)
_MEASURED = {row[0] for row in result()["tables"][0]["rows"]}
MADE: dict[str, Callable[[], str]] = {
    name: partial(of_method, name) for name in METHODS if name in _MEASURED
}
"""Functions that make the numbers of a method's page, by the method's name."""
