"""A paper's own methods against the others of the same tables."""

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence

from benchmarks.reproducing.paper import Table
from benchmarks.reproducing.verdicts import LEVEL, Judged, spread_of, welch
from docs.reproducing.results import Results, anchor, headings
from docs.reproducing.tables import markdown

BETTER, LEVELLED, WORSE = "better", "not distinguishable", "worse"
REFERENCE = "central"
"""Part of the names of rows that no federated method is to beat."""

TOLD = (
    "In how many cells the paper's own method is better than another one of the same table: by "
    "the paper's numbers, and by ours where both are measured. Differences that Welch's test at "
    "5 % does not show are *not distinguishable*; where either side has one seed, no test can be "
    "made, and the means alone count.\n"
)
Pair = tuple[Judged, Judged]


def section(results: Results) -> str:
    """Return a table of all comparisons; empty if there are none."""
    lines = [["", "", "claimed better", *(f"ours {each}" for each in (BETTER, LEVELLED, WORSE))]]
    lines.append(["---"] * len(lines[0]))
    for table, heading in headings(results.paper):
        for names, pairs in compared(results, table).items():
            place = f"[{heading}](#{anchor(heading)})"
            lines.append([place, " against ".join(names), *_counts(pairs)])
    return f"## Against the others\n\n{TOLD}\n{markdown(lines)}" if lines[2:] else ""


def compared(results: Results, table: Table) -> dict[tuple[str, str], list[Pair]]:
    """Return pairs of cells by the names of both methods.

    A row's name is that of a method, or has it behind a comma; pairs have all else in common.
    """
    found = dict[tuple[str, str], list[Pair]]()
    cells = results.judged(table)
    for own in cells:
        if not _is_own(results, own):
            continue
        for other in _others(cells, own):
            if not _is_own(results, other):
                names = _parted(own.cell.row)[1], _parted(other.cell.row)[1]
                found.setdefault(names, []).append((own, other))
    return found


def of_others(results: Results, table: Table) -> list[Judged]:
    """Return cells of other methods beside the paper's own."""
    cells = results.judged(table)
    own = [each for each in cells if _is_own(results, each)]
    return [each for each in cells if own and each not in own]


def _is_own(results: Results, cell: Judged) -> bool:
    return results.paper.title.lower() in _parted(cell.cell.row)[1].lower()


def _others(cells: Sequence[Judged], own: Judged) -> Iterator[Judged]:
    """Yield the cells beside another one, of the same scope and column."""
    for each in cells:
        scope, name = _parted(each.cell.row)
        same = each.cell.column == own.cell.column and scope == _parted(own.cell.row)[0]
        if same and REFERENCE not in name.lower():
            yield each


def _parted(row: str) -> tuple[str, str]:
    scope, comma, name = row.rpartition(", ")
    return (scope, name) if comma else ("", row)


def _counts(pairs: Sequence[Pair]) -> list[str]:
    """Return the paper's count, and ours of each outcome."""
    claims = [
        (own.cell.claim - other.cell.claim) * (-1 if own.cell.lower else 1) > 0
        for own, other in pairs
        if own.cell.claim is not None and other.cell.claim is not None
    ]
    ours = Counter(outcome(*pair) for pair in pairs if all(each.values for each in pair))
    told = [str(ours[name] or "") for name in (BETTER, LEVELLED, WORSE)]
    return [f"{sum(claims)} of {len(claims)}", *told]


def outcome(own: Judged, other: Judged) -> str:
    """Return whether one measured cell is better than another."""
    difference = statistics.fmean(own.values) - statistics.fmean(other.values)
    several = min(len(own.values), len(other.values)) > 1
    if several and welch(spread_of(own.values), spread_of(other.values)) > LEVEL:
        return LEVELLED
    return BETTER if (difference < 0) == own.cell.lower and difference else WORSE
