"""Leakage of all methods: each attack's distance from its baseline by colour."""

from benchmarks.harness.parts import days
from docs.leakage_numbers import BLOCK, Line, lines, measured
from docs.pictures.svg import document, text

WIDTH, LEFT, TOP, EDGE = 1080, 160, 92, 20
TALL = 24
STRONGEST = 0.65
"""Opacity of a figure as far beyond its baseline as can be."""


def draw() -> str:
    """Return the picture."""
    found = lines()
    methods = list(dict.fromkeys(line.method for line in found))
    attacks = list(dict.fromkeys(line.attack for line in _in_order(found)))
    wide = (WIDTH - LEFT - EDGE) / len(methods)
    bottom = TOP + TALL * len(attacks)
    title = "Success of attacks, by method"
    parts = [text(EDGE, 28, title, bold=True, size=17)]
    told = "The stronger, the further beyond the baseline, which needs no attack. Empty: no input."
    parts.append(text(EDGE, 50, told, "soft", size=13))
    for n, name in enumerate(methods):
        x = round(LEFT + wide * (n + 0.5), 1)
        parts.append(text(x, TOP - 10, name, "soft", anchor="middle", size=11))
    for n, name in enumerate(attacks):
        parts.append(text(LEFT - 8, TOP + TALL * n + 16, name, anchor="end", size=12))
    for line in found:
        place = LEFT + wide * methods.index(line.method), TOP + TALL * attacks.index(line.attack)
        parts += _cell(line, place, wide)
    below = f"digits, 4 parties; {days(measured(), BLOCK)}"
    parts.append(text(EDGE, bottom + 24, below, "soft", size=12))
    return document(WIDTH, bottom + 36, f"{title}. {_told(found)}", *parts)


def _in_order(found: list[Line]) -> list[Line]:
    """Return lines target by target, as in a card."""
    targets = list(dict.fromkeys(line.target for line in found))
    return sorted(found, key=lambda line: targets.index(line.target))


def _cell(line: Line, place: tuple[float, float], wide: float) -> list[str]:
    x, y = place
    opacity = STRONGEST * min(line.beyond, 1.0)
    return [
        f'<rect class="two" x="{x:.1f}" y="{y:g}" width="{wide - 2:.1f}" height="{TALL - 2}" '
        f'fill-opacity="{opacity:.2f}"/>',
        text(round(x + wide / 2 - 1, 1), y + 16, f"{line.figure:.2f}", anchor="middle", size=11),
    ]


def _told(found: list[Line]) -> str:
    """Return the numbers in words."""
    return "; ".join(
        f"{line.method}, {line.attack} {line.figure:.2f} (baseline {line.chance:.2f})"
        for line in found
    )
