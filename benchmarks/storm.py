"""Faults of whole deployments: kills, cuts, full disks, slow links, long runs.

    python -m benchmarks.storm [--json FILE] [NAME ...]

Each scenario starts a SuperLink and SuperNodes on loopback, disturbs them and notes how it ends:
with the weights of an undisturbed run, with an error that names the party, or not at all within
``--limit``. It samples memory, open handles, threads and files of all processes. In an earlier
``--json FILE``, the rows of what is not tried now are kept. Everything that was started
is ended by its process id.
"""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from benchmarks.harness.benchmark import OUT, Arguments, Benchmark, Option
from benchmarks.harness.report import Report
from benchmarks.storming.kills import killed_links, killed_nodes
from benchmarks.storming.lasting import eight_nodes, ten_minutes, ten_runs
from benchmarks.storming.loopback import Stuck
from benchmarks.storming.network import cuts, slow_link
from benchmarks.storming.nodes import full_disk, other_code
from benchmarks.storming.rows import million_rows
from benchmarks.storming.scenario import BAD, Storm
from vfl_flower.common.errors import RunError
from vfl_flower.common.signals import stopped_by

SCENARIOS: dict[str, Callable[[Storm], None]] = {
    "killed-nodes": killed_nodes,
    "killed-links": killed_links,
    "other-code": other_code,
    "full-disk": full_disk,
    "cuts": cuts,
    "slow-link": slow_link,
    "ten-runs": ten_runs,
    "eight-nodes": eight_nodes,
    "ten-minutes": ten_minutes,
    "million-rows": million_rows,
}


def _stop(number: int, frame: FrameType | None) -> None:
    raise SystemExit("stopped; everything that was started is being ended")


def measure(given: Arguments, report: Report) -> None:
    """Try the named scenarios one after the other."""
    with (
        stopped_by(_stop),
        tempfile.TemporaryDirectory(prefix="vfl-flower-storm-") as temporary,
    ):
        folder = Path(given.out or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        storm = Storm(report, folder, given.tiny, given.limit, given.only)
        for name in given.names:
            storm.name = name
            try:
                SCENARIOS[name](storm)
            except (Stuck, RunError) as error:  # others may begin all the same
                storm.failed(error)
    if given.json and given.json.exists():
        storm.keep(json.loads(given.json.read_text()))
    outcomes = [row[2] for row in storm.outcomes.rows]
    report.fact("faults", len(outcomes))
    for name in sorted(set(map(str, outcomes))):
        report.fact(name, outcomes.count(name))
    report.fact("bad", sum(outcome in BAD for outcome in outcomes))


BENCHMARK = Benchmark(
    measure,
    {
        "out": OUT,
        "limit": Option(600.0, tiny=240.0, help="seconds that one fault may take"),
        "only": Option("", help="what is in the names of the faults to try"),
    },
    known=[*SCENARIOS],
    few=["ten-minutes"],
)

if __name__ == "__main__":
    BENCHMARK.run()
