"""Memory, handles and threads of a deployment's processes over time."""

import contextlib
import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

KIB_A_MIB = 1 << 10
PROGRAMS = ("flower-superlink", "flower-supernode", "flwr-serverapp", "flwr-clientapp")
SAMPLED = {"MiB": 5.0, "handles": 6.0, "threads": 4.0, "files": 6.0}
"""What a sample counts, each with the growth that is still called flat."""
SHARE = 0.05
"""Growth of memory that is still called flat, as a share of what there was."""


@dataclass(frozen=True)
class Sample:
    """Memory, handles, threads and files of one role."""

    second: float
    processes: int
    MiB: float
    handles: int
    threads: int
    files: int


@dataclass
class Curves:
    """Samples by role: ``link: flower-superlink``, ``node1: flwr-clientapp``, ..."""

    by_role: dict[str, list[Sample]] = field(default_factory=lambda: defaultdict(list))

    @property
    def second(self) -> float:
        """Second of the latest sample."""
        return max((each[-1].second for each in self.by_role.values() if each), default=0.0)

    def between(self, start: float, end: float) -> "Curves":
        """Return the samples between two shares of the time."""
        found = Curves()
        for role, samples in self.by_role.items():
            first, last = int(len(samples) * start), int(len(samples) * end)
            found.by_role[role] = samples[first : max(last, first + 1)]
        return found

    def since(self, second: float) -> "Curves":
        """Return the samples after some time."""
        found = Curves()
        for role, samples in self.by_role.items():
            if later := [each for each in samples if each.second >= second]:
                found.by_role[role] = later
        return found

    def mean(self, role: str, name: str) -> float:
        """Return the mean of one count of a role."""
        return fmean(getattr(each, name) for each in self.by_role[role])

    def thinned(self, role: str, most: int) -> list[Sample]:
        """Return some samples of a role, evenly spread, with the last."""
        samples = self.by_role[role]
        step = max(-(-len(samples) // most), 1)
        return samples[::-1][::step][::-1]


def is_flat(name: str, before: float, after: float) -> bool:
    """Tell whether a count has not grown by more than is usual."""
    allowed = SAMPLED[name]
    return after - before <= (max(allowed, SHARE * before) if name == "MiB" else allowed)


@contextmanager
def watched(
    names: Mapping[str, str], folders: Callable[[str], Path], every: float
) -> Iterator[Curves]:
    """Sample all processes of a deployment meanwhile.

    Parameters
    ----------
    names : mapping of str to str
        Component by a line of its environment.
    folders : callable
        The folder in which a component keeps its files, by its name.
    every : float
        Seconds between two samples.
    """
    curves, over, started = Curves(), threading.Event(), time.monotonic()

    def look() -> None:
        while not over.wait(every):
            sample(curves, round(time.monotonic() - started, 1), names, folders)

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield curves
    finally:
        over.set()
        watcher.join()


def sample(
    curves: Curves, second: float, names: Mapping[str, str], folders: Callable[[str], Path]
) -> None:
    """Add one sample for each role that has a process.

    Flower puts a ServerApp into a process group of its own, but all inherit their environment.
    """
    found: dict[str, list[tuple[float, int, int]]] = defaultdict(list)
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):  # it may end meanwhile, or be another's
            name = component_of(folder, names)
            program = program_of(folder) if name else ""
            if program:
                found[f"{name}: {program}"].append(counts_of(folder))
    files = {name: files_in(folders(name)) for name in names.values()}
    for role, counts in found.items():
        memory, handles, threads = (sum(each) for each in zip(*counts, strict=True))
        count = files[role.partition(":")[0]]
        curves.by_role[role].append(
            Sample(second, len(counts), round(memory, 1), int(handles), int(threads), count)
        )


def component_of(folder: Path, names: Mapping[str, str]) -> str:
    """Return the component that a process belongs to, or nothing."""
    lines = (folder / "environ").read_bytes().decode(errors="replace").split("\0")
    return next((names[line] for line in lines if line in names), "")


def program_of(folder: Path) -> str:
    """Return which of `PROGRAMS` a process is, or nothing."""
    words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")[:3]
    names = {Path(word).name for word in words}
    return next((program for program in PROGRAMS if program in names), "")


def counts_of(folder: Path) -> tuple[float, int, int]:
    """Return resident memory in MiB, open handles and threads of a process."""
    lines = (folder / "status").read_text().splitlines()
    told = dict(line.split(":", 1) for line in lines if ":" in line)
    memory = int(told["VmRSS"].split()[0]) / KIB_A_MIB if "VmRSS" in told else 0.0
    return memory, len([*(folder / "fd").iterdir()]), int(told["Threads"])


def files_in(folder: Path) -> int:
    """Count the files under a folder."""
    return sum(len(names) for _, _, names in os.walk(folder))
