"""Panels of a figure in SVG: axes, lines and legends."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.reproducing.curves import Points
from docs.pictures.svg import document, path, text

LIGHT = ["#006aa6", "#b34d00", "#007a57", "#a8327d", "#7d6200", "#4b4fc4", "#7f4f24", "#59636e"]
DARK = ["#58b4ea", "#ff9a57", "#3fc79a", "#f08cc4", "#e3c341", "#a3a6ff", "#d0a377", "#9aa5b1"]
DASHES = ("", "7 3", "2 3", "9 3 2 3")

WIDTH, EDGE = 800, 20
HEIGHT, ABOVE, BELOW, LEFT, GAP = 190, 26, 46, 46, 22
"""Of a panel: the height of its plot, and the space about it."""

APART = 1.5
"""How much larger the range of all panels is than the largest, when each has its own scale."""

ACROSS = 3
"""Most panels side by side."""

LETTER = 7.4
"""Mean width of a letter of size 12."""


@dataclass(frozen=True)
class Line:
    """A line of a panel.

    Attributes
    ----------
    series : int
        Its number, which gives colour and dashes.
    points : list of (float, float)
        Its points.
    deviations : list of (float or None), optional
        Standard deviation of each point.
    claim : bool, optional
        Whether it is the paper's: thin, with hollow dots.
    dots : bool, optional
        Whether its points are marked.
    """

    series: int
    points: Points
    deviations: Sequence[float | None] = ()
    claim: bool = False
    dots: bool = False


@dataclass(frozen=True)
class Panel:
    """A plot.

    Attributes
    ----------
    title : str
        Above it.
    lines : list of Line
        All of its lines.
    marks : list of str, optional
        Names of the places 0, 1, ... of the horizontal axis; numbers without.
    """

    title: str
    lines: list[Line]
    marks: Sequence[str] = ()


@dataclass(frozen=True)
class Scale:
    """An axis: values between two ends, at places between two others."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        return self.start + (self.end - self.start) * (value - self.low) / (self.high - self.low)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers about a range.

    Parameters
    ----------
    low, high : float
        Its ends.
    most : int, optional
        Largest number of steps between them.
    """
    span = max(high - low, 1e-9 * max(abs(high), 1.0), 1e-12)
    power = 10 ** math.floor(math.log10(span / most))
    step = next(power * k for k in (1, 2, 2.5, 5, 10, 20) if span / (power * k) <= most)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(step * n, 12) for n in range(first, max(last, first + 1) + 1)]


def figure(title: str, told: str, panels: Sequence[Panel], names: Sequence[str], axes: str) -> str:
    """Return a picture of panels with one legend.

    Parameters
    ----------
    title : str
        What it shows.
    told : str
        The same with numbers, for those who do not see it.
    panels : sequence of Panel
        One or more.
    names : sequence of str
        Names of the series.
    axes : str
        What the axes show.
    """
    legend, top = _legend(names)
    across = min(ACROSS, len(panels))
    wide = (WIDTH - 2 * EDGE - across * LEFT - (across - 1) * GAP) / across
    vertical = _verticals(panels)
    parts = [text(EDGE, 28, title, bold=True, size=15), *legend]
    for number, panel in enumerate(panels):
        left = EDGE + LEFT + (number % across) * (wide + LEFT + GAP)
        upper = top + ABOVE + (number // across) * (ABOVE + HEIGHT + BELOW)
        parts += _drawn(panel, (left, left + wide), (upper + HEIGHT, upper), vertical[number])
    rows = -(-len(panels) // across)
    height = round(top + rows * (ABOVE + HEIGHT + BELOW) + 14)
    parts.append(text(EDGE, height - 8, axes, "soft", size=12))
    return document(WIDTH, height, told, _style(), *parts)


def _verticals(panels: Sequence[Panel]) -> list[list[float]]:
    """Return marks of vertical axes: the same, unless heights differ much."""
    heights = [[y for line in panel.lines for y in _reach(line)] for panel in panels]
    spans = [max(each) - min(each) for each in heights]
    low, high = min(map(min, heights)), max(map(max, heights))
    if high - low > APART * max(spans):
        return [ticks(min(each), max(each)) for each in heights]
    return [ticks(low, high)] * len(panels)


def _style() -> str:
    """Return the colours of all series."""

    def rules(colours: list[str]) -> str:
        return " ".join(
            f".s{n} {{ fill: {c}; }} .s{n}-line {{ stroke: {c}; fill: none; }}"
            for n, c in enumerate(colours)
        )

    dark = f"@media (prefers-color-scheme: dark) {{ {rules(DARK)} }}"
    return f"<style>{rules(LIGHT)} .hollow {{ stroke-width: 1.2; }} {dark}</style>"


def _legend(names: Sequence[str]) -> tuple[list[str], float]:
    """Return the legend, and where it ends."""
    parts, x, y = list[str](), float(EDGE), 48.0
    for number, name in enumerate(names):
        wide = 34 + LETTER * len(name) + 14
        if x + wide > WIDTH - EDGE and x > EDGE:
            x, y = float(EDGE), y + 18
        parts.append(_stroke(number, f"M{x:.1f} {y:g}h26", 2))
        parts.append(text(round(x + 32, 1), y + 4, name, "soft", size=12))
        x += wide
    return parts, y + 12


def _stroke(series: int, points: str, wide: float, faint: bool = False) -> str:
    dash = DASHES[series % len(DASHES)]
    more = f' stroke-dasharray="{dash}"' if dash else ""
    return path(points, _colour(series), wide=wide, more=more + (' opacity="0.55"' * faint))


def _colour(series: int) -> str:
    return f"s{series % len(LIGHT)}"


def _reach(line: Line) -> list[float]:
    """Return the heights that a line needs."""
    heights = [y for _, y in line.points]
    for (_, y), deviation in zip(line.points, line.deviations, strict=False):
        heights += [y - deviation, y + deviation] if deviation else []
    return heights


def _drawn(
    panel: Panel, across: tuple[float, float], up: tuple[float, float], vertical: list[float]
) -> list[str]:
    """Draw one panel between left and right, and between bottom and top."""
    y = Scale(vertical[0], vertical[-1], *up)
    places = [place for line in panel.lines for place, _ in line.points]
    horizontal = ticks(min(places), max(places), 5)
    x = Scale(horizontal[0], max(horizontal[-1], horizontal[0] + 1e-9), *across)
    if panel.marks:
        x = Scale(-0.4, len(panel.marks) - 0.6, *across)
    parts = [text(across[0], up[1] - 9, panel.title, size=13, bold=True)]
    for value in vertical:
        parts.append(path(f"M{across[0]:.1f} {y(value):.1f}H{across[1]:.1f}", "rule"))
        at = across[0] - 7, round(y(value) + 4, 1)
        parts.append(text(*at, f"{value:,g}", "soft", anchor="end", size=11))
    marks = enumerate(panel.marks) if panel.marks else ((v, f"{v:,g}") for v in horizontal)
    for value, name in marks:
        at = round(x(value), 1), up[0] + 17
        parts.append(text(*at, name, "soft", anchor="middle", size=11))
    return parts + [part for line in panel.lines for part in _line(line, x, y)]


def _line(line: Line, x: Scale, y: Scale) -> list[str]:
    steps = " ".join(f"{x(a):.1f} {y(b):.1f}" for a, b in line.points)
    parts = [_stroke(line.series, f"M{steps}", 1.2 if line.claim else 1.8, faint=line.claim)]
    for (a, b), deviation in zip(line.points, line.deviations, strict=False):
        if deviation:
            span = f"M{x(a):.1f} {y(b + deviation):.1f}V{y(b - deviation):.1f}"
            parts.append(path(span, _colour(line.series), wide=1.2))
    if line.claim or line.dots:
        colour = f"{_colour(line.series)}-line" if line.claim else _colour(line.series)
        parts += [
            f'<circle class="{colour}" cx="{x(a):.1f}" cy="{y(b):.1f}" r="3.4"/>'
            for a, b in line.points
        ]
    return parts
