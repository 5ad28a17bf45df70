"""Measured test accuracy of every method by bytes of training."""

import json
import math
from dataclasses import dataclass
from typing import Any

from benchmarks.harness.tables import RESULTS
from docs.pictures.svg import document, dot, path, text
from vfl_flower.config.registry import spec_of

WIDTH, HEIGHT = 800, 520
LEFT, RIGHT, TOP, BOTTOM = 64, 690, 84, 450
REFERENCES = ("central", "local")
"""Baselines, in which no party sends anything."""

LABEL_HEIGHT = 15


@dataclass(frozen=True)
class Point:
    """One method: where it ends, and how it came there."""

    method: str
    mib: float
    accuracy: float
    deviation: float
    course: list[tuple[float, float]]


@dataclass(frozen=True)
class Axes:
    """Scales: the logarithm of MiB to the right, percent upwards."""

    decades: tuple[int, int]
    percents: tuple[float, float]

    def x(self, mib: float) -> float:
        """Return the place of a number of MiB."""
        low, high = self.decades
        return LEFT + (RIGHT - LEFT) * (math.log10(mib) - low) / (high - low)

    def y(self, percent: float) -> float:
        """Return the place of an accuracy, at least the lower edge."""
        low, high = self.percents
        return BOTTOM - (BOTTOM - TOP) * (max(percent, low) - low) / (high - low)


def group_of(method: str) -> tuple[str, str]:
    """Return the colour and words for the visibility of uploads."""
    if spec_of(method).blinds:
        return "one", "masked: only sums are seen"
    return "two", "single embeddings are seen"


def read(result: dict[str, Any]) -> tuple[list[Point], dict[str, float]]:
    """Return the methods that send something, and the baselines' accuracies."""
    ends, courses = (table["rows"] for table in result["tables"])
    found = []
    for method, accuracy, deviation, mib, *_ in ends:
        course = [(row[2], row[3]) for row in courses if row[0] == method]
        found.append(Point(method, mib, accuracy, deviation, course))
    baselines = {each.method: each.accuracy for each in found if each.method in REFERENCES}
    return [each for each in found if each.method not in REFERENCES], baselines


def draw() -> str:
    """Return the picture."""
    result = json.loads((RESULTS / "methods.json").read_text())
    points, baselines = read(result)
    given, machine = result["options"], result["machine"]
    axes = Axes((0, 3), (89, 99))
    title = f"Accuracy by bytes: {len(points)} methods on {given['dataset'].upper()}"
    below = (
        f"{given['parties']} parties, {given['epochs']} epochs, means of {given['seeds']} seeds. "
        f"{result['date'][:10]}, {machine['cores']} cores ({machine['processor'].split(' ')[0]}), "
        f"torch {result['versions']['torch']}"
    )
    return document(
        WIDTH,
        HEIGHT,
        f"{title}. {_told(points, baselines)}",
        text(LEFT - 44, 28, title, bold=True, size=17),
        *_legend(),
        *_scales(axes),
        *(_baseline(axes, *each) for each in baselines.items()),
        *(part for point in points for part in _course(axes, point)),
        *(part for point in points for part in _end(axes, point)),
        *_names(axes, points),
        text(LEFT - 44, HEIGHT - 14, below, "soft", size=12),
    )


def _told(points: list[Point], baselines: dict[str, float]) -> str:
    """Return the numbers in words."""
    parts = [f"{p.method} {p.accuracy:.1f} % after {p.mib:.0f} MiB" for p in points]
    return ", ".join([*parts, *(f"baseline {name} {a:.1f} %" for name, a in baselines.items())])


def _legend() -> list[str]:
    """Draw the meaning of colours and lines."""
    parts, x = [], float(LEFT - 44)
    for colour, words in (group_of("easter"), group_of("splitnn")):
        parts += [dot(x + 6, 48, 6, colour), text(x + 18, 53, words, "soft", size=13)]
        x += 30 + 7 * len(words)
    return [*parts, text(x, 53, "line: validation accuracy on the way", "soft", size=13)]


def _scales(axes: Axes) -> list[str]:
    """Draw grid and numbers."""
    low, high = axes.decades
    parts = []
    for mib in (10**power for power in range(low, high + 1)):
        x = axes.x(mib)
        parts += [path(f"M{x:g} {TOP}V{BOTTOM}", "rule")]
        parts += [text(x, BOTTOM + 20, f"{mib:,} MiB", "soft", anchor="middle", size=12)]
    for percent in range(int(axes.percents[0]), int(axes.percents[1]) + 1):
        y = axes.y(percent)
        parts += [path(f"M{LEFT} {y:g}H{RIGHT}", "rule")]
        parts += [text(LEFT - 8, y + 4, f"{percent} %", "soft", anchor="end", size=12)]
    where = (LEFT + RIGHT) / 2
    words = "sent for training, all parties together (logarithmic)"
    parts += [text(LEFT - 44, TOP - 10, "test accuracy", "soft", size=12)]
    return [*parts, text(where, BOTTOM + 38, words, "soft", anchor="middle", size=12)]


def _baseline(axes: Axes, name: str, accuracy: float) -> str:
    """Draw a baseline, or name one below the scale."""
    words = {"central": "one network, all columns", "local": "the active party alone"}[name]
    if accuracy < axes.percents[0]:
        below = f"below this scale: {words}, {accuracy:.1f} %"
        return text(LEFT + 8, BOTTOM - 8, below, "soft", size=12)
    y = axes.y(accuracy)
    line = path(f"M{LEFT} {y:.1f}H{RIGHT}", "three", wide=1.5, more=' stroke-dasharray="5 4"')
    return line + text(LEFT + 8, y - 6, f"{words}, {accuracy:.1f} %", "three", size=12)


def _course(axes: Axes, point: Point) -> list[str]:
    """Draw the validation accuracy on the way, within the scale."""
    shown = [(mib, percent) for mib, percent in point.course if percent >= axes.percents[0]]
    steps = " ".join(f"{axes.x(mib):.1f} {axes.y(percent):.1f}" for mib, percent in shown)
    colour, _ = group_of(point.method)
    return [path(f"M{steps}", colour, wide=1.2, more=' opacity="0.4"')] if steps else []


def _end(axes: Axes, point: Point) -> list[str]:
    """Draw the end of training, with the standard deviation over seeds."""
    colour, _ = group_of(point.method)
    x, y = axes.x(point.mib), axes.y(point.accuracy)
    high, low = (axes.y(point.accuracy + sign * point.deviation) for sign in (1, -1))
    return [path(f"M{x:.1f} {high:.1f}V{low:.1f}", colour, wide=1.5), dot(x, y, 6, colour)]


def _names(axes: Axes, points: list[Point]) -> list[str]:
    """Write names beside the dots, none over another name or dot."""
    ordered = sorted(points, key=lambda point: -point.accuracy)
    taken = [_around(axes.x(p.mib) - 7, axes.y(p.accuracy), 14) for p in points]
    parts = []
    for point in ordered:
        noise = f" ({point.accuracy:.1f} %, labels noised)"
        words = point.method + (noise if spec_of(point.method).label_noise else "")
        x, y = axes.x(point.mib), axes.y(point.accuracy)
        left, line = _free(x, y, 7.2 * len(words), taken)
        taken.append(_around(left, line, 7.2 * len(words)))
        if abs(line - y) > LABEL_HEIGHT:
            edge = left if left > x else left + 7.2 * len(words)
            parts.append(path(f"M{x:.1f} {y:.1f}L{edge:.1f} {line:.1f}", "soft", wide=0.8))
        parts.append(text(round(left, 1), round(line + 4.5, 1), words, size=13, halo=True))
    return parts


Box = tuple[float, float, float, float]


def _around(left: float, middle: float, width: float) -> Box:
    return left, middle - LABEL_HEIGHT / 2, left + width, middle + LABEL_HEIGHT / 2


def _free(x: float, y: float, width: float, taken: list[Box]) -> tuple[float, float]:
    """Return left end and middle line of the nearest free place."""
    shifts = sorted((LABEL_HEIGHT * n / 2 for n in range(-20, 21)), key=abs)
    for shift in shifts:
        for left in (x + 11 + abs(shift) / 2, x - 11 - abs(shift) / 2 - width):
            one = _around(left, y + shift, width)
            inside = left > LEFT and one[2] < WIDTH and TOP < y + shift < BOTTOM - LABEL_HEIGHT
            if inside and not any(_touch(one, other) for other in taken):
                return left, y + shift
    return x + 11, y


def _touch(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
