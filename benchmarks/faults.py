"""Runs killed at every file-system call, and run folders with damaged files.

    python -m benchmarks.faults --json benchmarks/results/faults.json
    python -m benchmarks.faults kills --runs easter,own --every 20

A killed run is continued by the next command that a user would give; weights and files are then
compared with those of an unbroken run. Each fault has a process of its own, forked from one that
has imported everything.
"""

from collections.abc import Callable

from benchmarks.faulty.kills import RUNS, kills
from benchmarks.harness.benchmark import Arguments, Benchmark, Option
from benchmarks.harness.report import Report

KINDS: dict[str, Callable[[Arguments, Report], None]] = {"kills": kills}


def measure(given: Arguments, report: Report) -> None:
    """Try each kind of faults."""
    for name in given.names:
        KINDS[name](given, report)


BENCHMARK = Benchmark(
    measure,
    {
        "every": Option(1, tiny=100, help="kill at one file-system call in so many"),
        "minutes": Option(60.0, help="for kills; those tried by then are spread evenly"),
        "runs": Option(",".join(RUNS), tiny="easter", help="runs to kill"),
    },
    known=list(KINDS),
)

if __name__ == "__main__":
    BENCHMARK.run()
