"""Killed runs, damaged files, malformed tables, random configurations.

    python -m benchmarks.faults --json benchmarks/results/faults.json
    python -m benchmarks.faults kills --runs easter,own --every 20

Runs are killed at every file-system call, and folders of half-finished runs have damaged files; the
next command that a user would give is compared with an unbroken run. Tables are malformed and
configurations random. In an earlier ``--json FILE``, the tables of what is not tried now are kept.
"""

import json
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from typing import Any

from benchmarks.faulty.configurations import configurations
from benchmarks.faulty.damage import DAMAGED, damage
from benchmarks.faulty.kills import RUNS, kills
from benchmarks.faulty.malformed import tables
from benchmarks.harness.benchmark import Arguments, Benchmark, Option
from benchmarks.harness.report import Report, Table

KINDS: dict[str, Callable[[Arguments, Report], None]] = {
    "kills": kills,
    "damage": damage,
    "tables": tables,
    "configurations": configurations,
}
TITLES = {
    "kills": "kill",
    "damage": "damage",
    "tables": "malformed",
    "configurations": "configuration",
}
"""Words in the titles of the tables of each kind, and of no other."""


def measure(given: Arguments, report: Report) -> None:
    """Try each kind of faults."""
    earlier = json.loads(given.json.read_text()) if given.json and given.json.exists() else {}
    keep(earlier, given.names, report)
    for name in given.names:
        report.fact(f"{name}, date", f"{datetime.now(UTC):%Y-%m-%d %H:%M}")
        KINDS[name](given, report)


def keep(earlier: dict[str, Any], names: Collection[str], report: Report) -> None:
    """Keep earlier results of the kinds that are not tried now."""
    words = [TITLES[name] for name in names]
    report.facts.update(earlier.get("facts", {}))
    for each in earlier.get("tables", ()):
        if not any(word in each["title"] for word in words):
            report.tables.append(Table(**each))


BENCHMARK = Benchmark(
    measure,
    {
        "every": Option(1, tiny=100, help="kill at one file-system call in so many"),
        "minutes": Option(60.0, help="for kills and damage; what is tried is spread evenly"),
        "runs": Option(",".join(RUNS), tiny="easter", help="runs to kill"),
        "damaged": Option(",".join(DAMAGED), tiny="easter", help="runs to damage"),
        "places": Option(4, tiny=1, help="places of a file where a bit is flipped"),
        "one_in": Option(1, tiny=40, help="try one damage in so many"),
        "tables": Option(5000, tiny=60, help="malformed tables"),
        "configurations": Option(10_000, tiny=60, help="random configurations"),
        "seed": Option(0, help="of malformed tables and configurations"),
    },
    known=list(KINDS),
    few=list(KINDS),
)

if __name__ == "__main__":
    BENCHMARK.run()
