"""Figures of a paper: curves of training, lines over settings, heat maps."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.reproducing.curves import course
from benchmarks.reproducing.paper import Table
from benchmarks.reproducing.runs import Record
from benchmarks.reproducing.verdicts import Judged
from docs.reproducing import heat
from docs.reproducing.panels import Line, Panel, figure
from docs.reproducing.results import Results

MOST = 4
"""Curves of one panel, if their names say how to part them."""

ACROSS = {"epoch": "epochs", "step": "steps", "mib": "MiB sent, up and down"}


@dataclass(frozen=True)
class Picture:
    """A drawn figure.

    Attributes
    ----------
    svg : str
        The file.
    told : str
        Description for those who do not see it, in one line.
    """

    svg: str
    told: str


def drawn(results: Results) -> dict[str, Picture]:
    """Return the pictures of a paper that can be drawn, by table."""
    found = {table.name: _picture(results, table) for table in results.paper.tables}
    return {name: picture for name, picture in found.items() if picture}


def _picture(results: Results, table: Table) -> Picture | None:
    draw = DRAWERS.get("curves" if table.curves else table.picture)
    return draw(results, table) if draw else None


def _curves(results: Results, table: Table) -> Picture | None:
    records = results.records(table)
    found = {
        curve.label: course(curve, records[curve.experiment])
        for curve in table.curves
        if curve.experiment in records
    }
    known = {label: points for label, points in found.items() if points}
    if not known:
        return None
    parted = _parted([curve.label for curve in table.curves])
    names = list(dict.fromkeys(name for _, name in parted.values()))
    panels = dict[str, list[Line]]()
    for label, points in known.items():
        title, name = parted[label]
        panels.setdefault(title, []).append(Line(names.index(name), points))
    ends = ", ".join(
        f"{curve.label} {known[curve.label][-1][1]:.1f}{_fallen(records[curve.experiment])}"
        for curve in table.curves
        if curve.label in known
    )
    told = f"{table.title}. At the end: {ends}."
    what = table.curves[0]
    kind = {"train": "training rows", "validation": "validation rows"}[what.reading.split(":")[0]]
    axes = f"upwards: accuracy on {kind} in percent; to the right: {ACROSS[what.across]}"
    shown = [Panel(title, lines) for title, lines in panels.items()]
    return Picture(figure(table.title, told, shown, names, axes), _alternative(told))


def _fallen(record: Record) -> str:
    """Return how many runs of a curve failed, as text."""
    failed = sum(bool(seed["failed"]) for seed in record["seeds"])
    return f" ({failed} of {len(record['seeds'])} runs failed)" if failed else ""


def behind(results: Results, table: Table) -> str:
    """Return lines on the runs behind curves, and on failed ones."""
    records = results.records(table)
    found = [(curve.label, records.get(curve.experiment)) for curve in table.curves]
    known = {label: record for label, record in found if record}
    made = [sum(not each["failed"] for each in record["seeds"]) for record in known.values()]
    counts = sorted(filter(None, made))
    ends = dict.fromkeys((*counts[:1], *counts[-1:]))
    told = [f"* Seeds of a curve: {' to '.join(map(str, ends))}.\n"] if counts else []
    fallen = {label: _fallen(record) for label, record in known.items()}
    told += [f"* Not in the curve: {label}{what}.\n" for label, what in fallen.items() if what]
    return "".join(told)


def _parted(labels: list[str]) -> dict[str, tuple[str, str]]:
    """Return panel and name of each label.

    Of many labels "a, b", each a has a panel.
    """
    parts = {label: tuple(label.split(", ", 1)) for label in labels}
    if len(labels) > MOST and all(len(pair) == 2 for pair in parts.values()):
        return {label: (pair[0], pair[1]) for label, pair in parts.items()}
    return {label: ("", label) for label in labels}


def _lines(results: Results, table: Table) -> Picture | None:
    cells = results.judged(table)
    if not any(each.values for each in cells):
        return None
    columns = list(dict.fromkeys(each.cell.column for each in cells))
    parted = _parted(list(dict.fromkeys(each.cell.row for each in cells)))
    names = list(dict.fromkeys(name for _, name in parted.values()))
    panels = dict[str, list[Line]]()
    for row, (title, name) in parted.items():
        of = [each for each in cells if each.cell.row == row]
        panels.setdefault(title, []).extend(_both(of, columns, names.index(name)))
    told = f"{table.title}, ours with claims: {heat.in_words(cells)}."
    claims = "; rings: the paper's" if any(each.cell.claim is not None for each in cells) else ""
    axes = f"upwards: {table.unit}; full dots: ours, with standard deviation{claims}"
    marks = [_short(column, columns) for column in columns]
    shown = [Panel(title, lines, marks) for title, lines in panels.items() if lines]
    return Picture(figure(table.title, told, shown, names, axes), _alternative(told))


def _both(cells: list[Judged], columns: list[str], series: int) -> list[Line]:
    """Return the paper's line and ours."""
    place = {column: float(n) for n, column in enumerate(columns)}
    claims = [(place[c.cell.column], c.cell.claim) for c in cells if c.cell.claim is not None]
    ours = [(place[c.cell.column], c.mean) for c in cells if c.mean is not None]
    spreads = [c.std for c in cells if c.mean is not None]
    found = [Line(series, claims, claim=True)] if claims else []
    return found + ([Line(series, ours, spreads, dots=True)] if ours else [])


def _short(column: str, columns: list[str]) -> str:
    """Return a column's number alone, if all columns have just one."""
    numbers = [re.findall(r"[\d.]+|inf\w*", each) for each in columns]
    if len({*columns}) == len({tuple(each) for each in numbers}) and all(
        len(each) == 1 for each in numbers
    ):
        return str(re.findall(r"[\d.]+|inf\w*", column)[0])
    return column


def _heat(results: Results, table: Table) -> Picture | None:
    judged = results.judged(table)
    rows = {each.cell.row for each in judged if each.values}
    columns = {each.cell.column for each in judged if each.values}
    cells = [each for each in judged if each.cell.row in rows and each.cell.column in columns]
    if not cells:
        return None
    told = f"{table.title}, ours with claims: {heat.in_words(cells)}."
    return Picture(heat.draw(table.title, told, cells), _alternative(told))


def _alternative(told: str) -> str:
    """Return a description without marks that end it."""
    return re.sub(r"[\[\]]", "", told)


DRAWERS: dict[str, Callable[[Results, Table], Picture | None]] = {
    "curves": _curves,
    "lines": _lines,
    "heat": _heat,
}
"""Functions that draw a table, by kind of picture."""
