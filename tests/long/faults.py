"""Damaged files, malformed tables and random configurations."""

from typing import Any

from benchmarks.faults import BENCHMARK
from tests.long.check import Failed, Job

KINDS = ("damage", "tables", "configurations")


def faults(job: Job) -> dict[str, Any]:
    """Try all damage, and random input; every outcome is a good one."""
    tiny = ["--tiny"] if job.tiny else []
    report = BENCHMARK.run([*KINDS, *tiny, "--minutes", "600"])
    found: dict[str, Any] = {table.title: table.rows for table in report.tables}
    if others := [title for title in found if "other" in title]:
        raise Failed(", ".join(others), found)
    return found
