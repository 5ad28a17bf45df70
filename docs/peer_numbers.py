"""Measured steps, trees and rounds of other systems beside this one."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.harness.parts import days
from benchmarks.harness.report import Table
from benchmarks.harness.tables import RESULTS
from benchmarks.peers.kind import ROUNDS, SPLIT_LEARNING, TREES, Kind
from docs.benchmark_numbers import NONE

FILE, TREES_FILE = RESULTS / "peers.json", RESULTS / "peers-trees.json"
ROUNDS_FILE = RESULTS / "peers-authors.json"
SIDES = ("system", "runs as", "this project as")
TIMED = ("theirs, ms", "ours, ms", "times ours", "accuracies, %")


@dataclass(frozen=True)
class Contest:
    """A peer and this project at one work: their rows by column."""

    name: str
    work: str
    peer: dict[str, Any]
    ours: dict[str, Any]


def result(file: Path = FILE) -> dict[str, Any]:
    """Return the results of ``python -m benchmarks.peers``; empty if there are none."""
    read: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    return read


def contests(measured: dict[str, Any], kind: Kind = SPLIT_LEARNING) -> list[Contest]:
    """Return the contests of a kind in which both sides have run."""
    found = list[Contest]()
    for table in measured.get("tables", ()):
        if table["title"] != kind.title:
            continue
        rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
        for peer, ours in pairwise(rows):
            same = all(peer[key] == ours[key] for key in ("contest", kind.each))
            if same and peer["system"] != ours["system"] == "vfl-flower":
                found.append(Contest(peer["contest"], peer[kind.each], peer, ours))
    return found


def when(measured: dict[str, Any], found: list[Contest]) -> str:
    """Return the day or days on which contests were measured."""
    return ", ".join(sorted({days(measured, each.name) for each in found}))


def steps(file: Path = FILE) -> str:
    """Return the steps side by side in Markdown, with date and machine."""
    columns = (*SIDES, "networks", *TIMED)
    return _shown(file, SPLIT_LEARNING, columns, partial(_step, column="ms a step"))


def rounds(file: Path = ROUNDS_FILE) -> str:
    """Return the rounds side by side in Markdown, with date and machine."""
    columns = (*SIDES, "method", *TIMED)
    return _shown(file, ROUNDS, columns, partial(_step, column="ms a round"))


def trees(file: Path = TREES_FILE) -> str:
    """Return the trees side by side in Markdown, with date and machine."""
    pairs = ("s a tree", "MB a tree", "peak MiB", "ROC-AUC")
    columns = (*SIDES, "data", pairs[0], "times ours", *pairs[1:])
    return _shown(file, TREES, columns, _tree)


def _shown(
    file: Path, kind: Kind, columns: tuple[str, ...], cells: Callable[[Contest], list[str]]
) -> str:
    """Return a kind's contests as a table, with day and machine."""
    measured = result(file)
    if not (found := contests(measured, kind)):
        return f"{NONE}\n"
    machine = measured["machine"]
    told = (
        f"Measured {when(measured, found)}, {machine['processor']}, {machine['cores']} cores, "
        f"torch {measured['versions']['torch']}."
    )
    table = Table("", dict.fromkeys(columns, ""))
    for each in found:
        sides = each.peer["system"], each.peer["runs as"], each.ours["runs as"]
        table.rows.append([*sides, each.work, *cells(each)])
    return "\n".join([told, table.markdown()]).replace("\n\n\n", "\n\n")


def _step(contest: Contest, column: str) -> list[str]:
    """Return the numbers of a contest of steps or rounds."""
    peer, ours, accuracy = contest.peer, contest.ours, "test accuracy, %"
    return [
        *(f"{each[column]:.1f}" for each in (peer, ours)),
        f"{peer['times ours']:.1f}",
        f"{peer[accuracy]:.2f} and {ours[accuracy]:.2f}",
    ]


def _tree(contest: Contest) -> list[str]:
    """Return the numbers of a contest of trees, theirs and ours."""
    peer, ours = contest.peer, contest.ours

    def both(column: str) -> str:
        form = TREES.columns[column]
        told = ("" if each[column] is None else f"{each[column]:{form}}" for each in (peer, ours))
        return " and ".join(filter(None, told))

    rest = (both(column) for column in ("MB a tree", "peak MiB", "test ROC-AUC"))
    return [both("s a tree"), f"{peer['times ours']:.1f}", *rest]


MADE = {"peer-steps": steps, "peer-trees": trees, "peer-rounds": rounds}
"""Functions that make the tables, by the block's name."""
