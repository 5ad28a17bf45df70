"""Accuracy and leakage under each defence without a guarantee."""

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.harness.report import Table
from docs.leakage_numbers import measured
from docs.pictures.svg import document, dot, path, text

WIDTH, LEFT, RIGHT, TOP, TALL = 800, 250, 770, 92, 20
GROUPS = {
    "defences": ("defence", "learnt", "labels learnt from gradients"),
    "encodings": ("encoding", "learnt", "labels learnt from gradients"),
    "embedding-defences": ("defence", "decoder", "columns told by a decoder, R²"),
}
"""Block, the column with the defence's name, the attack, and its success in words."""


@dataclass(frozen=True)
class Defended:
    """One run with a defence.

    Attributes
    ----------
    name : str
        Method, data and defence.
    accuracy, told : float
        Test accuracy, and the attack's success, from 0 to 1.
    """

    name: str
    accuracy: float
    told: float


def draw() -> str:
    """Return the picture."""
    found = {block: list(_runs(block)) for block in GROUPS}
    bottom = TOP + TALL * (sum(map(len, found.values())) + 2 * len(found))
    title = "Defences without a guarantee: accuracy kept, and leakage left"
    parts = [text(20, 28, title, bold=True, size=17), *_legend(), *_scale(bottom)]
    y, told = TOP, []
    for block, runs in found.items():
        y += 2 * TALL
        parts.append(text(20, y - 6, f"{block}: {GROUPS[block][2]}", bold=True, size=13))
        for run in runs:
            parts += _row(run, y)
            told.append(f"{run.name}: accuracy {run.accuracy:.2f}, leakage {run.told:.2f}")
            y += TALL
    return document(WIDTH, bottom + 36, f"{title}. {'; '.join(told)}", *parts)


def _runs(block: str) -> Iterator[Defended]:
    column, attack, _ = GROUPS[block]
    [raw] = [each for each in measured()["tables"] if each["title"].startswith(f"{block}: ")]
    table = Table(**raw)
    for row in table.rows:
        cells = dict(zip(table.columns, row, strict=True))
        if cells[attack] is not None:
            names = [cells[key] for key in ("method", "data", column) if key in cells]
            accuracy = float(cells["accuracy, %"]) / 100  # type: ignore[arg-type]
            yield Defended(", ".join(map(str, names)), accuracy, float(cells[attack]))  # type: ignore[arg-type]


def _x(share: float) -> float:
    return round(LEFT + (RIGHT - LEFT) * share, 1)


def _legend() -> list[str]:
    return [
        dot(28, 53, 5, "one"),
        text(40, 57, "test accuracy", "soft", size=13),
        dot(168, 53, 5, "two"),
        text(180, 57, "success of the attack", "soft", size=13),
    ]


def _scale(bottom: float) -> list[str]:
    parts = []
    for tenth in range(0, 11, 2):
        x = _x(tenth / 10)
        parts.append(path(f"M{x:g} {TOP} V{bottom}", "rule"))
        parts.append(text(x, TOP - 8, f"{tenth / 10:g}", "soft", anchor="middle", size=12))
    return parts


def _row(run: Defended, y: float) -> list[str]:
    middle = y + TALL / 2
    ends = sorted((_x(run.accuracy), _x(run.told)))
    return [
        text(LEFT - 12, y + 14, run.name, anchor="end", size=12),
        path(f"M{ends[0]:g} {middle:g} H{ends[1]:g}", "soft"),
        dot(_x(run.told), middle, 5, "two"),
        dot(_x(run.accuracy), middle, 5, "one"),
    ]
