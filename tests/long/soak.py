"""Repeated runs on a busy machine: equal weights, no leaks."""

from typing import Any

from benchmarks.soak import BENCHMARK
from tests.long.check import Failed, Job

MOST_GROWTH = {"resident": 32, "files": 8, "threads": 2}
"""Growth of the process that is kept: memory in MiB; pipes and threads of pools come and go."""


def soak(job: Job) -> dict[str, Any]:
    """Train many times; refuse different weights and leaks."""
    report = BENCHMARK.run(["--tiny"] if job.tiny else [])
    found: dict[str, Any] = {"table": report.tables[0].rows, **report.facts}
    if len(report.tables) > 1:
        raise Failed("weights differ between runs", found | {"different": report.tables[1].rows})
    for name, most in MOST_GROWTH.items():
        first, last = (
            next(value for fact, value in found.items() if fact.startswith(f"{name} {when}"))
            for when in ("after the first runs", "at the end")
        )
        if last - first > most:
            raise Failed(f"{name} grow from {first:g} to {last:g}", found)
    return found
