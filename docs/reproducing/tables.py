"""Tables of a paper in Markdown."""

from collections.abc import Collection, Iterable

from benchmarks.reproducing.verdicts import NOT_RUN, REACHED, Judged

USUAL = " for the first seed on two cores"
"""End of the usual reason why a cell is not run: its time."""

ROOM = 24
"""Letters of a reason that stands in its cell."""

WIDEST = 7
"""Columns of a table."""

Group = tuple[str, str]
"""A verdict and what explains it."""

Place = tuple[str, str]
"""Row and column of a cell."""


def number(value: float) -> str:
    """Return a number with two decimals, or three below one."""
    return f"{value:,.2f}" if abs(value) >= 1 else f"{value:.3f}"


def spread(mean: float, deviation: float | None) -> str:
    """Return a mean with its deviation, if that is known."""
    return number(mean) + ("" if deviation is None else f" ± {deviation:,.2f}")


def ours(found: Judged) -> str:
    """Return our number with deviation and seeds; bold if reached."""
    if found.mean is None:
        return ""
    told = spread(found.mean, found.std)
    bold = f"**{told}**" if found.verdict == REACHED else told
    return f"{bold} ({len(found.values)})"


def claimed(found: Judged) -> str:
    """Return the paper's number with its deviation, if it gives them."""
    return "" if found.cell.claim is None else spread(found.cell.claim, found.cell.spread)


def matrices(cells: Collection[Judged]) -> str:
    """Return all cells as the paper has them.

    Each has the claim, our number and the verdict, one below the other. Many columns "a, b" make
    a table for each a.
    """
    columns = dict.fromkeys(each.cell.column for each in cells)
    parts = dict.fromkeys(column.split(", ", 1)[0] for column in columns)
    if len(columns) <= WIDEST or len(parts) == len(columns):
        return _matrix(cells)
    of = {part: [c for c in cells if c.cell.column.split(", ", 1)[0] == part] for part in parts}
    return "\n".join(map(_matrix, of.values()))


def _matrix(cells: Collection[Judged]) -> str:
    columns = list(dict.fromkeys(each.cell.column for each in cells))
    rows = list(dict.fromkeys(each.cell.row for each in cells))
    known = {(each.cell.row, each.cell.column): _lines(each) for each in cells}
    lines = [["", *columns], ["---"] * (len(columns) + 1)]
    lines += [[row, *(known.get((row, column), "") for column in columns)] for row in rows]
    return markdown(lines)


def _lines(found: Judged) -> str:
    short = _short(found.why)
    verdict = f"{found.verdict}, {short}" if _fits(found) else found.verdict
    return "<br>".join(part for part in (claimed(found), ours(found), verdict) if part)


def _fits(found: Judged) -> bool:
    """Tell whether the reason of a verdict has room in its cell."""
    return 0 < len(_short(found.why)) <= ROOM


def _short(why: str) -> str:
    """Return a reason without its usual end."""
    return why.removesuffix(USUAL)


def reasons(cells: Collection[Judged]) -> str:
    """Return a list of the verdicts' reasons, each with its cells."""
    groups = dict[Group, list[Place]]()
    for each in cells:
        if each.why and not _fits(each):
            place = each.cell.row, each.cell.column
            groups.setdefault((each.verdict, each.why), []).append(place)
    every = [(each.cell.row, each.cell.column) for each in cells]
    ordered = sorted(groups.items(), key=lambda group: group[0][0] == NOT_RUN)
    lines = [
        f"* {verdict[0].upper()}{verdict[1:]}, {escaped(why)}: {_places(places, every)}."
        for (verdict, why), places in ordered
    ]
    return "\n".join(lines) + "\n" if lines else ""


def _places(places: list[Place], every: list[Place]) -> str:
    """Return cells in words, by rows or by columns, whichever is shorter."""
    return escaped(min((_by(places, every, side) for side in (0, 1)), key=len))


def _by(places: list[Place], every: list[Place], side: int) -> str:
    """Return cells in words; whole rows, or columns, by their names alone."""
    told = []
    for name in dict.fromkeys(place[side] for place in places):
        others = [place[1 - side] for place in places if place[side] == name]
        whole = [place[1 - side] for place in every if place[side] == name]
        alone = others == whole and len(whole) > 1
        told.append(name if alone else f"{name} ({'; '.join(others)})")
    return "; ".join(told)


def markdown(lines: Iterable[Iterable[str]]) -> str:
    """Return lines of cells as a table."""
    return "\n".join(f"| {' | '.join(map(escaped, line))} |" for line in lines) + "\n"


def escaped(words: str) -> str:
    """Return words in which no bar ends a cell."""
    return " ".join(words.split()).replace("|", "\\|")
