"""Time of a step of other systems beside this one."""

import math

from docs.peer_numbers import Contest, contests, result, when
from docs.pictures.svg import box, document, path, text

WIDTH, LEFT, RIGHT, TOP, LINE = 800, 330, 700, 92, 44
BAR = 13


def draw() -> str:
    """Return the picture."""
    measured = result()
    found = contests(measured)
    bottom = TOP + LINE * len(found)
    steps = [each["ms a step"] for pair in found for each in (pair.peer, pair.ours)]
    ends = math.floor(math.log10(min(steps))), math.ceil(math.log10(max(steps)))
    title = "Time of a training step: other systems beside this one"
    machine = measured["machine"]
    below = (
        f"Same networks, data, batches and threads; logarithmic. {when(measured, found)}, "
        f"{machine['cores']} cores ({machine['processor'].split(' ')[0]}), "
        f"torch {measured['versions']['torch']}"
    )
    return document(
        WIDTH,
        bottom + 62,
        f"{title}. {_told(found)}",
        text(20, 28, title, bold=True, size=17),
        *_legend(),
        *_scale(ends, bottom),
        *(part for n, each in enumerate(found) for part in _bars(each, TOP + LINE * n, ends)),
        text(20, bottom + 48, below, "soft", size=12),
    )


def _told(found: list[Contest]) -> str:
    """Return the numbers in words."""
    return ". ".join(
        f"{_name(each)}, {each.work}: {each.peer['ms a step']:.1f} ms, "
        f"ours {each.ours['ms a step']:.1f} ms"
        for each in found
    )


def _name(contest: Contest) -> str:
    return f"{contest.peer['system'].split(',')[0]}, {contest.peer['runs as'].split(' (')[0]}"


def _legend() -> list[str]:
    return [
        box(20, 42, 12, 12, "two"),
        text(38, 53, "the other system", "soft", size=13),
        box(170, 42, 12, 12, "one"),
        text(188, 53, "vfl-flower", "soft", size=13),
    ]


def _x(ms: float, ends: tuple[int, int]) -> float:
    """Return the place of milliseconds on the scale."""
    return LEFT + (RIGHT - LEFT) * (math.log10(ms) - ends[0]) / (ends[1] - ends[0])


def _scale(ends: tuple[int, int], bottom: int) -> list[str]:
    """Draw the decades."""
    parts = []
    for power in range(ends[0], ends[1] + 1):
        x = _x(10**power, ends)
        parts += [path(f"M{x:.1f} {TOP - 8}V{bottom}", "rule")]
        parts += [text(x, bottom + 18, f"{10**power:g} ms", "soft", anchor="middle", size=12)]
    return parts


def _bars(contest: Contest, top: float, ends: tuple[int, int]) -> list[str]:
    """Draw both bars of a contest, and their names."""
    below = f"{contest.work}; ours: {contest.ours['runs as']}"
    parts = [
        text(LEFT - 12, top + 11, _name(contest).split(", files")[0], anchor="end", size=12),
        text(LEFT - 12, top + 27, below, "soft", anchor="end", size=12),
    ]
    for n, (row, colour) in enumerate(((contest.peer, "two"), (contest.ours, "one"))):
        ms, y = row["ms a step"], top + (BAR + 2) * n
        x = _x(ms, ends)
        parts += [box(LEFT, round(y, 1), round(x - LEFT, 1), BAR, colour)]
        parts += [text(round(x + 6, 1), round(y + 11, 1), f"{ms:.1f} ms", size=12)]
    return parts
