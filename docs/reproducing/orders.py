"""Orders that a paper names, held against ours."""

from benchmarks.reproducing.paper import Table
from benchmarks.reproducing.verdicts import MISSED, REACHED, SAME, Judged
from docs.reproducing.comparison import BETTER, LEVELLED, WORSE, outcome
from docs.reproducing.results import Results
from docs.reproducing.tables import number

VERDICT = {WORSE: MISSED, LEVELLED: SAME, BETTER: REACHED}
"""Verdicts by the least of all outcomes."""


def orders(results: Results, table: Table) -> str:
    """Return a list of verdicts on a table's order; empty without one.

    The row, or the column, `Table.best` is compared with the others beside it.
    """
    cells = [each for each in results.judged(table) if each.values]
    lines = list[str]()
    for first in cells:
        scope, name = _sides(table, first)
        rivals = [each for each in cells if _sides(table, each)[0] == scope and each != first]
        if name == table.best and rivals:
            lines.append(_told(table, scope, first, rivals))
    return "\n".join(lines) + "\n" if lines else ""


def _sides(table: Table, cell: Judged) -> tuple[str, str]:
    """Return the shared heading of rivals, and the cell's own."""
    row, column = cell.cell.row, cell.cell.column
    by_rows = any(each.row == table.best for each in table.cells)
    return (column, row) if by_rows else (row, column)


def _told(table: Table, scope: str, first: Judged, rivals: list[Judged]) -> str:
    outcomes = {outcome(first, each) for each in rivals}
    verdict = next(told for found, told in VERDICT.items() if found in outcomes)
    others = ", ".join(f"{number(each.mean or 0)} ({_sides(table, each)[1]})" for each in rivals)
    alone = min(len(each.values) for each in (first, *rivals)) < 2
    return (
        f"* Order {verdict}, {scope}: the paper has {table.best} above the others, and ours are "
        f"{number(first.mean or 0)} against {others}{', by means alone' * alone}."
    )
