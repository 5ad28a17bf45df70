"""Leakage of all methods, by target.

The strongest attack on each target is a file of the package, too, which `inspect` and `report` show
of runs without a card.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from benchmarks.harness.parts import days
from benchmarks.harness.report import Table
from docs.benchmark_numbers import NONE
from docs.page_numbers import FILE, joined
from vfl_flower.common.files import json_bytes, write_atomically
from vfl_flower.reporting.usual_leakage import FILE as OF_METHODS
from vfl_flower.reporting.usual_leakage import Strongest

BLOCK, LARGER = "leakage", "leakage-images"
STEPS = "leakage-steps"
"""Of methods without networks, shown with the others."""
CHANGED = 0.05
"""Difference by which a protection changes a figure, to be listed."""


@dataclass(frozen=True)
class Line:
    """Figures of one attack on one method."""

    method: str
    data: str
    target: str
    attack: str
    metric: str
    without: float | None
    baseline: float | None
    protected: float | None
    baseline_then: float | None
    against: str

    @property
    def figure(self) -> float | None:
        """The attack's, on the run as it is by default."""
        return self.without if self.protected is None else self.protected

    @property
    def chance(self) -> float:
        """The baseline of `figure`."""
        found = self.baseline if self.protected is None else self.baseline_then
        return found or 0.0

    @property
    def beyond(self) -> float:
        """Success beyond the baseline; attacks on scores lower them."""
        if self.figure is None:
            return 0.0
        gained = self.figure - self.chance
        return max(-gained if self.metric.endswith(" left") else gained, 0.0)


@cache
def measured() -> dict[str, Any]:
    """Read the results of ``benchmarks.pages``."""
    found: dict[str, Any] = json.loads(FILE.read_text())
    return found


def lines(block: str = BLOCK) -> list[Line]:
    """Return all figures of a block, method by method."""
    table = _table(block, "means")
    names = [name for name in table.columns if not name.endswith("±")]
    picked = [list(table.columns).index(name) for name in names]
    return [Line(*(row[n] for n in picked)) for row in table.rows]  # type: ignore[arg-type]


def _table(block: str, word: str) -> Table:
    blocks = (block, STEPS) if block == BLOCK else (block,)
    tables = [each for each in measured()["tables"] if word in each["title"]]
    found = [each for each in tables if each["title"].partition(": ")[0] in blocks]
    return Table(**{**found[0], "rows": [row for each in found for row in each["rows"]]})


def strongest(found: Iterable[Line]) -> list[Line]:
    """Return the attack furthest beyond its baseline, by method and target."""
    best = dict[tuple[str, str], Line]()
    for line in found:
        key = line.method, line.target
        if key not in best or line.beyond > best[key].beyond:
            best[key] = line
    return list(best.values())


def by_target(block: str) -> str:
    """Return a table of each target, and the protections' effect."""
    found = lines(block)
    told = f"Measured {days(measured(), block)} with torch {measured()['versions']['torch']}."
    setting = _table(block, "means").title.partition(": ")[2]
    runs = joined(asdict(_table(block, "runs")), "runs")
    parts = [told, "", runs, f"{setting}; the baseline in brackets.", ""]
    for target in dict.fromkeys(line.target for line in found):
        parts += [_matrix([line for line in found if line.target == target])]
    return "\n".join([*parts, _changes(found)])


def _matrix(found: Sequence[Line]) -> str:
    methods = list(dict.fromkeys(line.method for line in found))
    attacks = list(dict.fromkeys((line.attack, line.metric) for line in found))
    cells = {(line.method, line.attack): line for line in found}
    columns = {found[0].target: "", **{f"{name}, {metric}": "" for name, metric in attacks}}
    table = Table("", columns)
    for method in methods:
        table.add(f"`{method}`", *(_cell(cells.get((method, name))) for name, _ in attacks))
    return table.markdown().lstrip()


def _cell(line: Line | None) -> str:
    if line is None or line.figure is None:
        return "-"
    return f"{line.figure:.2f} ({line.chance:.2f})"


def _changes(found: Sequence[Line]) -> str:
    """Return the figures that the protections change."""
    columns = {"method": "", "attack": "", "figure": "", "without": ".2f", "with": ".2f"}
    table = Table("Figures that the run's protections change:", columns)
    for line in found:
        if line.without is None or line.protected is None:
            continue
        if abs(line.without - line.protected) >= CHANGED:
            names = f"`{line.method}`", f"`{line.attack}`", line.metric
            table.add(*names, line.without, line.protected)
    return table.markdown() if table.rows else ""


def of_methods() -> dict[str, Any]:
    """Return the file of the package: the strongest attack on each target."""
    found = measured()
    setting = _table(BLOCK, "means").title.partition(": ")[2].partition(" and halves")[0]
    kept = dict[str, list[dict[str, Any]]]()
    for line in strongest(lines()):
        assert line.figure is not None  # noqa: S101  a line has a figure with or without
        names = line.target, line.attack, line.metric
        made = Strongest(*names, round(line.figure, 3), round(line.chance, 3), line.against)
        kept.setdefault(line.method, []).append(asdict(made))
    return {"measured": days(found, BLOCK), "setting": setting, "methods": kept}


def write(path: Path = OF_METHODS) -> None:
    """Write the file of the package."""
    write_atomically(path, json_bytes(of_methods()))


def shown(block: str) -> str:
    """Return the tables of a block that was measured."""
    there = any(each["title"].startswith(f"{block}: runs") for each in measured()["tables"])
    return by_target(block) if there else f"{NONE}\n"


MADE = {block: partial(shown, block) for block in (BLOCK, LARGER)}
"""Functions that make the tables, by the block's name."""
