"""Cells with explanations, and results behind them."""

from functools import cache

from benchmarks.reproducing.plan import papers
from benchmarks.reproducing.runs import Record
from benchmarks.reproducing.store import Store
from benchmarks.reproducing.verdicts import MISSED, Judged
from docs.reproducing.results import Results


@cache
def results_of(paper: str) -> Results:
    return Results(paper, papers()[paper], Store())


@cache
def judged(paper: str, table: str) -> list[Judged]:
    results = results_of(paper)
    return list(results.judged(results.paper.table(table)))


def missed_for(why: str, cells: list[Judged]) -> list[Judged]:
    """Return the cells that an explanation is of: there are some."""
    found = [each for each in cells if each.cell.why == why and each.verdict == MISSED]
    assert found
    return found


def seeds_of(paper: str, experiment: str | None) -> list[Record]:
    record = results_of(paper).record(experiment or "")
    assert record
    return list(record["seeds"])
