"""Measured steps of other systems beside this one."""

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.harness.parts import days
from benchmarks.harness.report import Table
from benchmarks.harness.tables import RESULTS
from docs.benchmark_numbers import NONE

FILE = RESULTS / "peers.json"


@dataclass(frozen=True)
class Contest:
    """A peer and this project at one work: their rows by column."""

    name: str
    networks: str
    peer: dict[str, Any]
    ours: dict[str, Any]


def result(file: Path = FILE) -> dict[str, Any]:
    """Return the results of ``python -m benchmarks.peers``; empty if there are none."""
    read: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    return read


def contests(measured: dict[str, Any]) -> list[Contest]:
    """Return the contests in which both sides have run."""
    found = list[Contest]()
    for table in measured.get("tables", ()):
        rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
        for peer, ours in pairwise(rows):
            same = (peer["contest"], peer["networks"]) == (ours["contest"], ours["networks"])
            if same and peer["system"] != ours["system"] == "vfl-flower":
                found.append(Contest(peer["contest"], peer["networks"], peer, ours))
    return found


def shown(file: Path = FILE) -> str:
    """Return the steps side by side in Markdown, with date and machine."""
    measured = result(file)
    if not (found := contests(measured)):
        return f"{NONE}\n"
    machine = measured["machine"]
    told = (
        f"Measured {days(measured)}, {machine['processor']}, {machine['cores']} cores, torch "
        f"{measured['versions']['torch']}."
    )
    columns = ("system", "runs as", "this project as", "networks", "theirs, ms", "ours, ms")
    table = Table("", dict.fromkeys((*columns, "times ours", "accuracies, %"), ""))
    for each in found:
        table.rows.append(_row(each))
    return "\n".join([told, table.markdown()]).replace("\n\n\n", "\n\n")


def _row(contest: Contest) -> list[Any]:
    peer, ours = contest.peer, contest.ours
    accuracy = "test accuracy, %"
    steps = (f"{each['ms a step']:.1f}" for each in (peer, ours))
    times = f"{peer['times ours']:.1f}"
    scores = f"{peer[accuracy]:.2f} and {ours[accuracy]:.2f}"
    return [
        peer["system"],
        peer["runs as"],
        ours["runs as"],
        contest.networks,
        *steps,
        times,
        scores,
    ]


MADE = {"peer-steps": shown}
"""Functions that make the tables, by the block's name."""
