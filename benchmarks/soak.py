"""Repeated short runs on a busy machine: equal weights, no leaks.

    python -m benchmarks.soak [--runs 2000] [--minutes 25] [--json benchmarks/results/soak.json]

Runs of several methods train at once in three kinds of process: this one, some that are started
afresh, and some that are forked from one that has imported everything. Others keep the cores busy.
All parties' weights and losses are digested after every step; each digest is compared with that of
the first run.
"""

import multiprocessing
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import cycle, zip_longest
from statistics import fmean

from benchmarks.harness.benchmark import Arguments, Benchmark, Option
from benchmarks.harness.digests import COMMAND, RUNS, Resources, Run, train
from benchmarks.harness.report import Report

KEPT = "kept"
STARTED = {"fresh": ("spawn", 20), "forked": ("forkserver", 4)}
"""How each other kind of process is started, and after how many runs it ends."""

PRELOADED = ["benchmarks.harness.digests", "sklearn.datasets"]
BUSY = "while True: sum(range(100_000))"
NAMES = (*RUNS, COMMAND)
WARM_UP = len(NAMES)  # runs until caches and thread pools are filled
MIB = 1 << 20


@dataclass
class Soak:
    """Results of repeated runs.

    Attributes
    ----------
    first : dict of str to Run
        First run by name, to which all others are compared.
    runs, different : Counter of tuple
        By name and kind of process.
    processes : set of tuple
        Kind and number of every process.
    kept : list of Resources
        After every run in the process that is kept.
    differences : list of tuple
        Name, kind of process, number of the run, and first step that differs.
    digests : int
        How many were compared.
    loads : list of float
        Load average after every run.
    """

    first: dict[str, Run] = field(default_factory=dict)
    runs: Counter[tuple[str, str]] = field(default_factory=Counter)
    different: Counter[tuple[str, str]] = field(default_factory=Counter)
    processes: set[tuple[str, int]] = field(default_factory=set)
    kept: list[Resources] = field(default_factory=list)
    differences: list[tuple[str, str, int, int]] = field(default_factory=list)
    digests: int = 0
    loads: list[float] = field(default_factory=list)

    def add(self, kind: str, run: Run) -> None:
        """Compare a run with the first of its name."""
        first = self.first.setdefault(run.name, run)
        self.runs[run.name, kind] += 1
        self.processes.add((kind, run.process))
        self.digests += len(run.digests)
        self.loads.append(os.getloadavg()[0])
        if kind == KEPT:
            self.kept.append(run.held)
        pairs = enumerate(zip_longest(first.digests, run.digests))
        if unequal := [step for step, (one, other) in pairs if one != other]:
            self.different[run.name, kind] += 1
            self.differences.append((run.name, kind, self.runs.total(), unequal[0]))

    def grown(self) -> dict[str, tuple[int, int]]:
        """Return the kept process's resources, once warm and at the end."""
        warm, last = self.kept[min(WARM_UP, len(self.kept)) - 1], self.kept[-1]
        return {name: (value, getattr(last, name)) for name, value in vars(warm).items()}


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keep the cores busy with some processes."""
    with ExitStack() as stack:
        for _ in range(processes):
            each = stack.enter_context(subprocess.Popen([sys.executable, "-c", BUSY]))  # noqa: S603
            stack.callback(each.kill)
        yield


def pools(stack: ExitStack, kinds: list[str]) -> dict[str, ProcessPoolExecutor]:
    """Start a pool of one process for each kind."""
    multiprocessing.get_context("forkserver").set_forkserver_preload(PRELOADED)
    made = {}
    for kind in kinds:
        start, most = STARTED[kind]
        context = multiprocessing.get_context(start)
        pool = ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=most)
        made[kind] = stack.enter_context(pool)
    return made


def soak(runs: int, minutes: float, kinds: list[str], beside: int) -> Soak:
    """Train until there are enough runs or the time is up.

    Parameters
    ----------
    runs : int
        How many at least, unless the time is up.
    minutes : float
        After which no run begins, but for the first of each name in this process.
    kinds : list of str
        Keys of `STARTED`: processes that train beside this one.
    beside : int
        Processes that keep the cores busy.
    """
    found, end = Soak(), time.monotonic() + 60 * minutes
    with ExitStack() as stack:
        stack.enter_context(busy(beside))
        made = pools(stack, kinds)
        names = {kind: cycle(NAMES) for kind in (KEPT, *kinds)}
        waiting: dict[str, Future[Run]] = {}
        while len(found.kept) < len(NAMES) or (
            found.runs.total() < runs and time.monotonic() < end
        ):
            for kind in made.keys() - waiting.keys():
                waiting[kind] = made[kind].submit(train, next(names[kind]))
            found.add(KEPT, train(next(names[KEPT])))
            for kind in [kind for kind, each in waiting.items() if each.done()]:
                found.add(kind, waiting.pop(kind).result())
        for kind, each in waiting.items():
            found.add(kind, each.result())
    return found


def tell(found: Soak, report: Report) -> None:
    """Write tables and facts of a soak."""
    table = report.table(
        "short runs on a busy machine, compared after every step",
        {"run": "", "process": "", "runs": ",", "different": ","},
    )
    for (name, kind), number in sorted(found.runs.items()):
        table.add(name, kind, number, found.different[name, kind])
    if found.differences:
        unequal = report.table(
            "differences", {"run": "", "process": "", "number": ",", "first step": ""}
        )
        for each in found.differences:
            unequal.add(*each)
    report.fact("runs", found.runs.total())
    report.fact("differences", found.different.total())
    report.fact("digests compared", found.digests)
    report.fact("processes", len(found.processes))
    report.fact("load average", fmean(found.loads))
    report.fact("runs in the kept process", len(found.kept))
    for name, (warm, last) in found.grown().items():
        scale, unit = (MIB, ", MiB") if name == "resident" else (1, "")
        report.fact(f"{name} after the first runs{unit}", warm / scale)
        report.fact(f"{name} at the end{unit}", last / scale)


def measure(given: Arguments, report: Report) -> None:
    """Soak, and report."""
    kinds = [kind for kind in given.processes.split(",") if kind]
    tell(soak(given.runs, given.minutes, kinds, given.busy), report)


BENCHMARK = Benchmark(
    measure,
    {
        "runs": Option(2000, tiny=8, help="runs, unless the time is up"),
        "minutes": Option(25.0, tiny=0.5, help="minutes after which no run begins"),
        "busy": Option(6, tiny=1, help="processes that keep the cores busy"),
        "processes": Option("fresh,forked", tiny="", help="kinds of process beside this one"),
    },
)

if __name__ == "__main__":
    BENCHMARK.run()
