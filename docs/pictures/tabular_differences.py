"""Paired differences of every model to pooled logistic regression, by data set."""

from math import ceil, floor

from benchmarks.tabular import BASELINE, VARIANTS
from docs.pictures.svg import document, dot, path, text
from docs.tabular_numbers import TITLES, Row, ordered, result, rows_of, splits_of
from vfl_flower.config.registry import METHODS, spec_of

WIDTH, LINE = 800, 21
LEFT, RIGHT, TOP = 218, 780, 104
GAP = 14  # between panels
TICK = 0.05


def draw() -> str:
    """Return the picture."""
    measured = result()
    found, splits = rows_of(measured), splits_of(measured)
    names = [name for name in ordered(found.values()) if name != BASELINE]
    bottom = TOP + LINE * len(names)
    span = _span([row for rows in found.values() for name, row in rows.items() if name in names])
    wide = (RIGHT - LEFT - GAP * (len(found) - 1)) / len(found)
    panels = []
    for number, (dataset, rows) in enumerate(found.items()):
        left = LEFT + number * (wide + GAP)
        panels += [
            text(left, TOP - 24, TITLES[dataset], size=13, bold=True),
            text(left, TOP - 9, f"{splits[dataset]} splits", "soft", size=11),
            *_panel({name: rows[name] for name in names}, (left, wide), span),
        ]
    title = "ROC-AUC against logistic regression on all columns"
    below = (
        f"Paired differences with 95 % intervals. {measured['date'][:10]}, torch "
        f"{measured['versions']['torch']}"
    )
    return document(
        WIDTH,
        bottom + 70,
        f"{title}. {_told(found, names)}",
        text(20, 28, title, bold=True, size=17),
        *_legend(),
        *(_name(name, TOP + LINE * n) for n, name in enumerate(names)),
        *panels,
        text(20, bottom + 56, below, "soft", size=12),
    )


def colour_of(name: str) -> str:
    """Return the colour of a model's protection."""
    method = VARIANTS[name][0] if name in VARIANTS else name
    if method not in METHODS or method in ("central", "local"):
        return "three"
    return "one" if spec_of(method).blinds else "two"


def _span(rows: list[Row]) -> tuple[float, float]:
    """Return the scale's ends, multiples of a tick."""
    ends = [(float(r["difference"] or 0), float(r["+-"] or 0)) for r in rows]
    low, high = min(d - h for d, h in ends), max(d + h for d, h in ends)
    return floor(low / TICK) * TICK, ceil(high / TICK) * TICK


def _panel(
    rows: dict[str, Row], place: tuple[float, float], span: tuple[float, float]
) -> list[str]:
    """Draw the differences of one data set."""
    (left, wide), (low, high) = place, span
    bottom, parts = TOP + LINE * len(rows), list[str]()

    def x(value: float) -> float:
        return left + wide * (value - low) / (high - low)

    for tick in range(round(low / TICK), round(high / TICK) + 1):
        at = x(tick * TICK)
        parts.append(path(f"M{at:.1f} {TOP}V{bottom}", "rule" if tick else "soft"))
        if not tick % 2:
            told = f"{tick * TICK:+.1f}" if tick else "0"
            parts.append(text(at, bottom + 18, told, "soft", anchor="middle", size=11))
    for number, (name, row) in enumerate(rows.items()):
        if row["difference"] is None:
            continue
        y, colour = TOP + LINE * (number + 0.5), colour_of(name)
        middle, half = float(row["difference"]), float(row["+-"] or 0)
        ends = f"M{x(middle - half):.1f} {y:.1f}H{x(middle + half):.1f}"
        parts += [path(ends, colour, wide=1.8), dot(x(middle), y, 4, colour)]
    return parts


def _name(name: str, top: float) -> str:
    return text(LEFT - 12, top + LINE / 2 + 4.5, name, anchor="end", size=12)


def _legend() -> list[str]:
    """Draw the meaning of the colours."""
    parts, x = [], 20.0
    for colour, words in (
        ("three", "not federated"),
        ("one", "masked: only sums are seen"),
        ("two", "single embeddings are seen"),
    ):
        parts += [dot(x + 6, 48, 6, colour), text(x + 18, 53, words, "soft", size=13)]
        x += 30 + 7 * len(words)
    return parts


def _told(found: dict[str, dict[str, Row]], names: list[str]) -> str:
    """Return the numbers in words."""
    return ". ".join(
        f"{TITLES[dataset]}: "
        + ", ".join(
            f"{n} {rows[n]['difference']:+.3f}" for n in names if rows[n]["difference"] is not None
        )
        for dataset, rows in found.items()
    )
