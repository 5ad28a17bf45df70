"""Orders that a paper names, held against ours."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from scipy.stats import spearmanr

from benchmarks.reproducing.paper import Table
from benchmarks.reproducing.verdicts import MISSED, REACHED, SAME, Judged
from docs.reproducing.comparison import BETTER, LEVELLED, WORSE, outcome
from docs.reproducing.results import Results, in_words
from docs.reproducing.tables import number

VERDICT = {WORSE: MISSED, LEVELLED: SAME, BETTER: REACHED}
"""Verdicts by the least of all outcomes."""


class Order(NamedTuple):
    """A row or column, and others below it.

    Attributes
    ----------
    scope : str
        Heading that they share.
    first : Judged
        The one that is claimed to be above the others.
    rivals : list of Judged
        The others.
    """

    scope: str
    first: Judged
    rivals: list[Judged]

    @property
    def verdict(self) -> str:
        """Verdict on the order: by the rival that comes out best."""
        outcomes = {outcome(self.first, each) for each in self.rivals}
        return next(told for found, told in VERDICT.items() if found in outcomes)


def orders(results: Results, table: Table) -> str:
    """Return a list of verdicts on a table's order; empty without one.

    The row, or the column, `Table.best` is compared with the others beside it.
    """
    lines = [_told(table, order) for order in _orders(results, table)]
    return "\n".join(lines) + "\n" if lines else ""


def counted_orders(results: Results, table: Table) -> str:
    """Return verdicts on a table's own orders in words; empty without one."""
    own = (each.verdict for each in _orders(results, table) if each.first.cell.counted)
    told = in_words(Counter(own))
    return f"orders: {told}" if told else ""


def ranks(results: Results, table: Table) -> str:
    """Return rank correlations of claims with means of other rows."""
    told = (
        f"* Ranks, {column}: Spearman's correlation of the claims with our means{table.ranked}, is "
        f"{rho}.\n"
        for column, rho in _correlations(results, table)
    )
    return "".join(told)


def ranks_in_words(results: Results, table: Table) -> str:
    """Return rank correlations in a few words; empty without one."""
    told = ", ".join(rho for _, rho in _correlations(results, table))
    return f"rank correlation {told}{table.ranked}" if told else ""


def _correlations(results: Results, table: Table) -> Iterator[tuple[str, str]]:
    """Find rank correlations by columns."""
    if not table.ranked:
        return
    cells = {(each.cell.column, each.cell.row): each for each in results.judged(table)}
    found = defaultdict[str, list[tuple[float | None, float | None]]](list)
    for (column, row), each in cells.items():
        if other := cells.get((column, f"{row}{table.ranked}")):
            found[column].append((each.cell.claim, other.mean))
    for column, pairs in found.items():
        if len(pairs) > 1 and all(None not in pair for pair in pairs):
            yield column, f"{spearmanr(*zip(*pairs, strict=True)).statistic:.2f}"


def _orders(results: Results, table: Table) -> Iterator[Order]:
    cells = [each for each in results.judged(table) if each.values]
    for first in cells:
        scope, name = _sides(table, first)
        if name != table.best:
            continue
        rivals = [each for each in cells if _sides(table, each)[0] == scope and each != first]
        if rivals:
            yield Order(scope, first, rivals)


def _sides(table: Table, cell: Judged) -> tuple[str, str]:
    """Return the shared heading of rivals, and the cell's own."""
    row, column = cell.cell.row, cell.cell.column
    by_rows = any(each.row == table.best for each in table.cells)
    return (column, row) if by_rows else (row, column)


def _told(table: Table, order: Order) -> str:
    rivals = [(number(each.mean or 0), _sides(table, each)[1]) for each in order.rivals]
    others = ", ".join(f"{mean} ({name})" for mean, name in rivals)
    alone = min(len(each.values) for each in (order.first, *order.rivals)) < 2
    return (
        f"* Order {order.verdict}, {order.scope}: the paper has {table.best} above the others, and "
        f"ours are {number(order.first.mean or 0)} against {others}"
        f"{', by means alone' * alone}."
    )
