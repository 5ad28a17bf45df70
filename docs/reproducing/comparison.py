"""A paper's own methods against the others of the same tables."""

import re
import statistics
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest

from benchmarks.reproducing.paper import Cell, Table
from benchmarks.reproducing.verdicts import FAILED, LEVEL, Judged, spread_of, welch
from docs.reproducing.results import Results, anchor, headings
from docs.reproducing.tables import markdown

BETTER, LEVELLED, WORSE = "better", "not distinguishable", "worse"
OURS = (BETTER, LEVELLED, WORSE, FAILED)
REFERENCE = "central"
"""Part of the names of rows that no federated method is to beat."""

PARTS = re.compile(r", (?![^(]*\))")
"""What stands between a row's parts, in one of which brackets may hold commas."""

TOLD = (
    "In how many cells the paper's own method is better than another one of the same table: by "
    "the paper's numbers, and by ours where both are measured. Differences that Welch's test at "
    "5 % does not show are *not distinguishable*; where either side has one seed, no test can be "
    "made, and the means alone count. Where a run of either side failed, nothing is compared.\n"
)
Pair = tuple[Judged, Judged]


def section(results: Results) -> str:
    """Return a table of all comparisons; empty if there are none."""
    lines = [["", "", "claimed better", *(f"ours {each}" for each in OURS)]]
    lines.append(["---"] * len(lines[0]))
    for table, heading in headings(results.paper):
        for names, pairs in compared(results, table).items():
            place = f"[{heading}](#{anchor(heading)})"
            lines.append([place, " against ".join(names), *_counts(pairs)])
    return f"## Against the others\n\n{TOLD}\n{markdown(lines)}" if lines[2:] else ""


def compared(results: Results, table: Table) -> dict[tuple[str, str], list[Pair]]:
    """Return pairs of cells by the names of both methods.

    A row's name has parts between commas, one of which is the method; pairs have all others, and
    the column, in common.
    """
    found = dict[tuple[str, str], list[Pair]]()
    others = [each for each in of_others(results, table) if REFERENCE not in each.cell.row.lower()]
    for own in filter(_compares, results.judged(table)) if table.alike else ():
        for other in others if _is_own(results, own) else ():
            names = _different(own.cell, other.cell)
            if names and results.paper.title.lower() in names[0].lower():
                found.setdefault(names, []).append((own, other))
    return found


def _compares(own: Judged) -> bool:
    """Tell whether a cell is the paper's, or has no claim."""
    return own.cell.counted or own.cell.claim is None


def of_others(results: Results, table: Table) -> list[Judged]:
    """Return cells of other methods than the paper's own.

    Where no row names that, as in a sweep of its settings, the experiment's method tells.
    """
    cells = results.judged(table)
    own = [each for each in cells if _is_own(results, each)] or [
        each for each in cells if not _is_of_another(results, each)
    ]
    return [each for each in cells if each not in own]


def _is_of_another(results: Results, cell: Judged) -> bool:
    if cell.cell.experiment is None:
        return False
    flags = results.paper.experiments[cell.cell.experiment].flags
    return flags["method"] not in results.paper.methods


def _is_own(results: Results, cell: Judged) -> bool:
    return results.paper.title.lower() in cell.cell.row.lower()


def _different(own: Cell, other: Cell) -> tuple[str, str] | None:
    """Return the only part in which two rows of a column differ."""
    pairs = zip_longest(*(PARTS.split(each.row) for each in (own, other)), fillvalue="")
    found = [(a, b) for a, b in pairs if a != b]
    return found[0] if own.column == other.column and len(found) == 1 else None


def _counts(pairs: Sequence[Pair]) -> list[str]:
    """Return the paper's count, and ours of each outcome and of failures."""
    claims = [
        (own.cell.claim - other.cell.claim) * (-1 if own.cell.lower else 1) > 0
        for own, other in pairs
        if own.cell.claim is not None and other.cell.claim is not None and other.cell.counted
    ]
    ours = Counter(outcome(*pair) for pair in pairs if all(each.values for each in pair))
    ours[FAILED] = sum(FAILED in {each.verdict for each in pair} for pair in pairs)
    told = [str(ours[name] or "") for name in OURS]
    return [f"{sum(claims)} of {len(claims)}" if claims else "", *told]


def outcome(own: Judged, other: Judged) -> str:
    """Return whether one measured cell is better than another."""
    difference = statistics.fmean(own.values) - statistics.fmean(other.values)
    several = min(len(own.values), len(other.values)) > 1
    if several and welch(spread_of(own.values), spread_of(other.values)) > LEVEL:
        return LEVELLED
    return BETTER if (difference < 0) == own.cell.lower and difference else WORSE
