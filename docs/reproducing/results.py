"""The papers' cells, judged by the results that the repository keeps."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from benchmarks.reproducing.choice import drawn, settled
from benchmarks.reproducing.paper import Paper, Table
from benchmarks.reproducing.plan import COMMON, papers
from benchmarks.reproducing.runs import Record
from benchmarks.reproducing.store import Store
from benchmarks.reproducing.verdicts import VERDICTS, Judged, judged


@dataclass(frozen=True)
class Results:
    """A paper with the results of its experiments.

    Attributes
    ----------
    name : str
        Name of the paper, as in ``easter``.
    paper : Paper
        The paper.
    store : Store
        Where results are kept.
    """

    name: str
    paper: Paper
    store: Store
    _read: dict[str, Record | None] = field(default_factory=dict)

    def record(self, experiment: str) -> Record | None:
        """Return the results of an experiment, if there are some.

        Those of other flags or points than its present ones are none.
        """
        if experiment not in self._read:
            of = self.paper.experiments[experiment]
            flags = dict(of.flags) | COMMON
            found = self.store.current(*of.place(self.name, experiment), flags)
            if of.search:
                found = settled(found, drawn(of.search, of.search.points))
            self._read[experiment] = found if found["seeds"] else None
        return self._read[experiment]

    def judged(self, table: Table) -> list[Judged]:
        """Return the cells of a table with our numbers and verdicts."""
        return [
            judged(self.paper, cell, self.record(cell.experiment) if cell.experiment else None)
            for cell in table.cells
        ]

    def records(self, table: Table) -> dict[str, Record]:
        """Return the results behind a table, by experiment."""
        found = {name: self.record(name) for name in self.paper.needed([table])}
        return {name: record for name, record in found.items() if record}

    def counted(self, table: Table) -> list[Judged]:
        """Return the cells of a table that summaries count."""
        return [each for each in self.judged(table) if each.cell.counted]

    def counts(self, table: Table) -> Counter[str]:
        """Return how many of those have each verdict."""
        return Counter(each.verdict for each in self.counted(table))

    def distinct(self) -> Iterator[tuple[Table, Judged]]:
        """Yield all of those with their tables, each number once.

        Tables and columns repeat numbers of others: the first one has it, with each of its claims.
        """
        every = [(table, each) for table in self.paper.tables for each in self.counted(table)]
        claimed = {_number(each) for _, each in every if each.cell.claim is not None}
        seen = set[tuple[str | None, str, float | None]]()
        for table, each in every:
            number, claim = _number(each), each.cell.claim
            repeated = (*number, claim) in seen or (claim is None and number in claimed)
            if each.cell.experiment is None or not repeated:
                yield table, each
            seen.add((*number, claim))


def _number(each: Judged) -> tuple[str | None, str]:
    return each.cell.experiment, each.cell.reading


def all_results() -> list[Results]:
    """Return all papers with the results that the repository keeps."""
    return [Results(name, paper, Store()) for name, paper in papers().items()]


def headings(paper: Paper) -> Iterator[tuple[Table, str]]:
    """Yield each table with its own heading on the page."""
    places = Counter(table.place for table in paper.tables)
    for table in paper.tables:
        alone = places[table.place] == 1
        yield table, table.place if alone else f"{table.place}, {table.name}"


def anchor(heading: str) -> str:
    """Return the name by which a link finds a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def in_words(counts: Mapping[str, int]) -> str:
    """Return counts of verdicts in words, in the order of the verdicts."""
    return ", ".join(f"{counts[name]} {name}" for name in VERDICTS if counts.get(name))
