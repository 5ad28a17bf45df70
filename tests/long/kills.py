"""Runs killed at all file-system calls, or at a sample."""

from typing import Any

from benchmarks.faults import BENCHMARK
from tests.long.check import Failed, Job


def kills(job: Job) -> dict[str, Any]:
    """Kill all runs; each comes to the same weights and files."""
    report = BENCHMARK.run(["kills", "--every", str(job.size(1, 60)), "--minutes", "600"])
    runs, *failed = report.tables
    found: dict[str, Any] = {
        str(row[0]): dict(zip(runs.columns, row, strict=True)) for row in runs.rows
    }
    if failed:
        raise Failed(
            "an outcome differs from an unbroken run's", found | {"failed": failed[0].rows}
        )
    return found
