"""Scenarios, their outcomes and their rows in the report."""

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.harness.report import Report, Table
from benchmarks.storming.curves import SAMPLED, Curves, is_flat, watched
from benchmarks.storming.loopback import Clock, Loopback, Run, Stuck
from vfl_flower.common import errors

SAME, FLAT, ERROR, SKIPPED = "same weights", "flat", "clear error", "not tried"
OTHER, UNCLEAR, STUCK, GROWN = "other weights", "unclear error", "stuck", "not flat"
BAD = OTHER, UNCLEAR, STUCK, GROWN
COLUMNS = {"scenario": "", "fault": "", "outcome": "", "s": ".0f", "told": "", "date": ""}
STEADY = {"scenario": "", "process": "", "count": "", "before": ".1f", "after": ".1f", "flat": ""}
CURVES = {"scenario": "", "process": "", "s": ".0f", "processes": ""} | dict.fromkeys(
    SAMPLED, ".0f"
)
MOST = 12
"""Samples of a curve that are kept."""

_SAID = re.compile(r"ERROR\s*:\s+(\w+): (.+)")
_WHERE = re.compile(r"/\S*/deployment/(?:flwr/apps/[^/\s]+/)?")
"""Folder of a deployment, or of the app in it."""

_LONGEST = 300  # characters of a message in the table


@dataclass
class Storm:
    """Report, folder and limits that all scenarios share.

    Parameters
    ----------
    report : Report
        Where rows go.
    folder : Path
        Where deployments go.
    tiny : bool
        Whether to take a sample only.
    limit : float
        Seconds that one fault may take.
    only : str
        What is in the names of faults to try.
    name : str
        The scenario in hand.
    """

    report: Report
    folder: Path
    tiny: bool
    limit: float
    only: str = ""
    name: str = ""
    outcomes: Table = field(init=False)
    flat: Table = field(init=False)
    curves: Table = field(init=False)

    def __post_init__(self) -> None:
        self.outcomes = self.report.table("What was done to a deployment, and its end", COLUMNS)
        self.flat = self.report.table("Memory, handles, threads and files, early and late", STEADY)
        self.curves = self.report.table("Curves", CURVES)

    def place(self) -> Path:
        """Return a folder that is not there yet."""
        return Path(tempfile.mkdtemp(prefix=f"{self.name}-", dir=self.folder)) / "deployment"

    def keep(self, earlier: Mapping[str, Any]) -> None:
        """Add an earlier result's rows, but for those that there are again."""
        tables = {table.title: table for table in self.report.tables}
        for kept in earlier["tables"]:
            table = tables[kept["title"]]
            again = {tuple(row[:2]) for row in table.rows}
            table.rows[:0] = [row for row in kept["rows"] if tuple(row[:2]) not in again]

    def few(self, faults: Sequence[str]) -> Sequence[str]:
        """Return the faults to try, under ``--tiny`` the first alone."""
        chosen = [each for each in faults if self.only in each]
        return chosen[:1] if self.tiny else chosen

    def tried(self, fault: str, work: Callable[[Clock], tuple[str, str]], limit: float = 0) -> None:
        """Try one fault, and add its row.

        Parameters
        ----------
        fault : str
            What is done to the deployment.
        work : callable
            Returns the outcome and what was told; has a clock.
        limit : float, optional
            Seconds, if other than usual.
        """
        clock = Clock(limit or self.limit)
        try:
            outcome, told = work(clock)
        except Stuck as stuck:
            outcome, told = STUCK, str(stuck)
        day = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
        self.outcomes.add(self.name, fault, outcome, round(clock.seconds, 1), told, day)
        print(f"{self.name}, {fault}: {outcome}, {clock.seconds:.0f} s. {told}", flush=True)

    def failed(self, error: Exception) -> None:
        """Add a row for a scenario that could not begin."""
        self.tried("its start", lambda clock: (UNCLEAR, str(error)[:_LONGEST]))

    @contextmanager
    def watch(self, scene: Loopback, every: float) -> Iterator[Curves]:
        """Sample a deployment meanwhile; add its curves."""
        with watched(scene.names(), scene.home_of, every) as curves:
            yield curves
        self.draw(curves)

    def draw(self, curves: Curves) -> None:
        """Add the rows of some curves."""
        for role in sorted(curves.by_role):
            for each in curves.thinned(role, MOST):
                counts = [each.MiB, each.handles, each.threads, each.files]
                self.curves.add(self.name, role, each.second, each.processes, *counts)

    def compare(
        self, before: Curves, after: Curves, counts: Sequence[str] = tuple(SAMPLED)
    ) -> list[str]:
        """Compare the means of two times; return the counts that grew."""
        grown = []
        for role in sorted(before.by_role.keys() & after.by_role.keys()):
            for name in counts:
                early, late = before.mean(role, name), after.mean(role, name)
                flat = is_flat(name, early, late)
                self.flat.add(self.name, role, name, early, late, "yes" if flat else "no")
                grown += [] if flat else [f"{name} of {role}: {early:.0f} to {late:.0f}"]
        return grown


def error_in(log: str) -> str:
    """Return the last error of this project in a log, or nothing."""
    ours = [f"{name}: {text}" for name, text in _SAID.findall(log) if hasattr(errors, name)]
    return ours[-1].strip()[:_LONGEST] if ours else ""


def judged(
    scene: Loopback, run: Run, expected: Sequence[bytes], party: str = ""
) -> tuple[str, str]:
    """Compare a run that has ended with an undisturbed one.

    Parameters
    ----------
    scene : Loopback
        Where it was.
    run : Run
        The run.
    expected : sequence of bytes
        Weights of the undisturbed run.
    party : str, optional
        Which party an error has to name.
    """
    found, said = scene.weights(run.name), error_in(_WHERE.sub("", run.log))
    if all(found):
        return (SAME if found == list(expected) else OTHER), ""
    if not said:
        lines = run.log.strip().splitlines() or ["no log"]
        return UNCLEAR, lines[-1][:_LONGEST]
    return (ERROR if party in said else UNCLEAR), said
