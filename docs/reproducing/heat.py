"""Heat maps: our numbers by colour, the papers' below."""

from collections.abc import Sequence

from benchmarks.reproducing.verdicts import Judged
from docs.pictures.svg import document, text
from docs.reproducing.tables import number

WIDTH, EDGE, TOP = 800, 20, 66
TALL = 40
FAINTEST, STRONGEST = 0.06, 0.45
LETTER = 7


def in_words(cells: Sequence[Judged]) -> str:
    """Return all measured cells in words."""
    return "; ".join(
        f"{each.cell.row}, {each.cell.column} {number(each.mean)}"
        + ("" if each.cell.claim is None else f" (claimed {number(each.cell.claim)})")
        for each in cells
        if each.mean is not None
    )


def draw(title: str, told: str, cells: Sequence[Judged]) -> str:
    """Return a heat map.

    Parameters
    ----------
    title : str
        What it shows.
    told : str
        The same with numbers, for those who do not see it.
    cells : sequence of Judged
        Rows by columns; those without a number of ours have no colour.
    """
    rows = list(dict.fromkeys(each.cell.row for each in cells))
    columns = list(dict.fromkeys(each.cell.column for each in cells))
    left = EDGE + LETTER * max(map(len, rows)) + 12
    wide = (WIDTH - EDGE - left) / len(columns)
    values = [each.mean for each in cells if each.mean is not None]
    low, span = min(values), max(max(values) - min(values), 1e-9)
    parts = [text(EDGE, 28, title, bold=True, size=15)]
    parts += [
        text(round(left + wide * (n + 0.5), 1), TOP - 8, name, "soft", anchor="middle", size=12)
        for n, name in enumerate(columns)
    ]
    for n, name in enumerate(rows):
        parts.append(text(round(left - 8, 1), TOP + TALL * n + 24, name, anchor="end", size=12))
    for each in cells:
        x = left + wide * columns.index(each.cell.column)
        share = None if each.mean is None else (each.mean - low) / span
        parts += _cell(each, (x, TOP + TALL * rows.index(each.cell.row)), wide, share)
    bottom = TOP + TALL * len(rows)
    below = "colour and upper numbers: ours; lower numbers: the paper's"
    parts.append(text(EDGE, bottom + 24, below, "soft", size=12))
    return document(WIDTH, bottom + 36, told, *parts)


def _cell(found: Judged, place: tuple[float, float], wide: float, share: float | None) -> list[str]:
    """Draw a cell, the stronger the higher its share of the range."""
    x, y = place
    opacity = 0 if share is None else FAINTEST + (STRONGEST - FAINTEST) * share
    parts = [
        f'<rect class="one" x="{x:.1f}" y="{y:g}" width="{wide - 2:.1f}" height="{TALL - 2}" '
        f'fill-opacity="{opacity:.2f}"/>'
    ]
    middle = round(x + wide / 2 - 1, 1)
    if found.mean is not None:
        parts.append(text(middle, y + 17, number(found.mean), anchor="middle", size=12))
    if found.cell.claim is not None:
        told = number(found.cell.claim)
        parts.append(text(middle, y + 32, told, anchor="middle", size=11))
    return parts
