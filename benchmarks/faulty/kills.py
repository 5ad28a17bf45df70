"""Runs killed at every file-system call, and continued by the next command.

A folder in which nothing is visible is no run yet: the command is given again. Any other is
resumed. Weights and all files are then compared with those of an unbroken run; see `folders`. Noise
of labels comes from one seed before the kill and from another after it: labels that were kept are
the same ones, and labels that were not are drawn anew, once.
"""

import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.faulty.folders import (
    Content,
    content_of,
    differing,
    weights_in,
    without_checkpoints,
)
from benchmarks.faulty.forks import KILLED, TERMINATED, Ended, Plan, forked
from benchmarks.harness.benchmark import Arguments
from benchmarks.harness.report import Report
from tests.helpers.own_data.own import make
from vfl_flower.privacy.label_dp.training_labels import NOISED

COMMON = ("--device", "cpu", "--baselines", "off", "--epochs", "2")
MLP = (
    *(*COMMON, "--dataset", "wine", "--models", "mlp", "--embedding-dim", "8"),
    *("--batch-size", "32", "--eval-every", "2", "--parties", "3"),
)
SPLIT = (*MLP, "--method", "splitnn")
TABLES = "TABLES"
"""Stands for the descriptions of own tables."""

OWN = (*SPLIT, "--dataset", "own", "--tables", TABLES, "--party-randomness", "public")
RUNS: dict[str, Sequence[str]] = {
    "easter": MLP,
    "splitnn": SPLIT,
    "vimadmm": (*MLP, "--method", "vimadmm", "--local-steps", "2"),
    "pravfed": (
        *(*MLP, "--method", "pravfed", "--local-epochs", "1"),
        *("--label-privacy", "laplace", "--label-epsilon", "1"),
    ),
    "adptvfedconv": (
        *(*COMMON, "--method", "adptvfedconv", "--width", "0.05", "--train-rows", "128"),
        *("--pretrain-epochs", "2", "--local-epochs", "1"),
    ),
    "own": OWN,
    "seeds": (*SPLIT, "--seeds", "3"),
    "own-seeds": (*OWN, "--seeds", "2"),
}
BEFORE, AFTER = 1, 2
"""Seeds of the noise of labels, before and after a fault."""

TERMINATED_TOO = 5  # one point in so many is tried with SIGTERM as well
COUNTS = ("killed", "terminated", "resumed", "begun anew", "same weights", "same files")


class Killing:
    """Kills of one run.

    Parameters
    ----------
    flags : sequence of str
        The run's command line, without its folder.
    work : Path
        Folder for the runs.

    Attributes
    ----------
    calls : list of str
        File-system calls of the unbroken run.
    counts : Counter
        Faults, next commands and equal outcomes.
    failures : list of tuple of str
        Fault, and how its outcome was not as it should be.

    Raises
    ------
    RuntimeError
        If an unbroken run fails.
    """

    def __init__(self, flags: Sequence[str], work: Path) -> None:
        self.flags, self.work = flags, work
        self.counts, self.failures = Counter[str](), list[tuple[str, str]]()
        self.calls, first = self._unbroken(BEFORE)
        noises = any(name.endswith(NOISED) for name in first)
        self.expected = {BEFORE: first, AFTER: self._unbroken(AFTER)[1] if noises else first}

    def run(self, every: int, minutes: float) -> None:
        """Kill at one call in so many, for some minutes."""
        end = time.monotonic() + 60 * minutes
        for number, point in enumerate(spread(range(1, len(self.calls) + 1, every))):
            if time.monotonic() > end:
                return
            self.fault(point, signal.SIGKILL)
            if not number % TERMINATED_TOO:
                self.fault(point, signal.SIGTERM)

    def fault(self, point: int, sent: signal.Signals) -> None:
        """Send a signal at one call, give the next command, compare."""
        out = self.work / f"{point}-{sent.name}"
        ended = self._train(out, Plan(out, point, sent), BEFORE)
        if not ended.calls and not ended.code:
            return  # parties write side by side, and did so in fewer calls
        self.counts["killed" if sent == signal.SIGKILL else "terminated"] += 1
        expected = {KILLED} if sent == signal.SIGKILL else TERMINATED
        faults = list(self._wrong(ended, expected, out))
        call = ended.calls[-1] if ended.calls else "no call"
        for fault in faults:
            self.failures.append((f"{sent.name} at {point}, {call}", fault))
            print(*self.failures[-1], sep=": ", flush=True)
        shutil.rmtree(out, ignore_errors=True)

    def _wrong(self, ended: Ended, codes: set[int], out: Path) -> Iterator[str]:
        """Yield faulty outcomes of a fault and of the next command."""
        if ended.code not in codes:
            yield f"exit code {ended.code}: {ended.last}"
        noise = BEFORE if list(out.rglob(f"*/{NOISED}")) or ended.code == 0 else AFTER
        if is_begun(out):
            self.counts["resumed"] += 1
            after = forked(["train", "--resume", str(out)], noise=AFTER)
        else:
            self.counts["begun anew"] += 1
            after = self._train(out, None, AFTER)
        if after.code:
            yield f"exit code {after.code} of the next command: {after.last}"
            return
        found, expected = content_of(out), self.expected[noise]
        if ended.code != KILLED:
            found, expected = without_checkpoints(found), without_checkpoints(expected)
        for name, some in (("weights", weights_in), ("files", dict[str, object])):
            if wrong := differing(some(found), some(expected)):
                yield f"other {name}: {', '.join(wrong)}"
            else:
                self.counts[f"same {name}"] += 1

    def _unbroken(self, noise: int) -> tuple[list[str], Content]:
        out = self.work / f"unbroken-{noise}"
        ended = self._train(out, Plan(out), noise)
        if ended.code:
            raise RuntimeError(f"the unbroken run failed: {ended.text}")
        return ended.calls, content_of(out)

    def _train(self, out: Path, plan: Plan | None, noise: int) -> Ended:
        return forked(["train", *self.flags, "--out", str(out)], plan, noise)


def spread(points: Sequence[int]) -> list[int]:
    """Order points so that the first ones are spread evenly."""
    bits = len(points).bit_length()
    order = sorted(range(len(points)), key=lambda number: f"{number:0{bits}b}"[::-1])
    return [points[number] for number in order]


def is_begun(folder: Path) -> bool:
    """Tell whether a folder has anything that a user sees."""
    return folder.is_dir() and any(not path.name.startswith(".") for path in folder.iterdir())


def kills(given: Arguments, report: Report) -> None:
    """Kill the chosen runs; report counts and failures.

    The time is shared equally among them.
    """
    names = given.runs.split(",")
    table = report.table(
        "runs killed at file-system calls, spread evenly",
        {"run": "", "calls": ",", **dict.fromkeys(COUNTS, ","), "failures": ","},
    )
    failed = list[tuple[str, str, str]]()
    with tempfile.TemporaryDirectory(prefix="vfl-flower-kills-") as folder:
        tables = make(Path(folder, "tables"))
        for name in names:
            flags = [word.replace(TABLES, tables) for word in RUNS[name]]
            killing = Killing(flags, Path(folder, name).resolve())
            killing.run(given.every, given.minutes / len(names))
            counts = [killing.counts[each] for each in COUNTS]
            table.add(name, len(killing.calls), *counts, len(killing.failures))
            failed += [(name, *failure) for failure in killing.failures]
    if failed:
        shown = report.table("kills that failed", {"run": "", "fault": "", "outcome": ""})
        for row in failed:
            shown.add(*row)
