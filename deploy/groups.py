"""Groups of processes below another."""

import contextlib
import os
import signal
import time
from collections.abc import Collection
from pathlib import Path


def groups_below(number: int) -> set[int]:
    """Return the process groups of a process and its descendants."""
    known = _processes()
    found, below = set[int](), {number}
    while below:
        found |= {known[each][1] for each in below if each in known}
        below = {each for each, (parent, _) in known.items() if parent in below}
    return found


def end_groups(groups: Collection[int], seconds: float) -> None:
    """Wait until groups have ended; kill those that live on."""
    _await(groups, seconds)
    for group in groups:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
    _await(groups, seconds)


def _await(groups: Collection[int], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and {each for _, each in _processes().values()} & {*groups}:
        time.sleep(0.05)


def _processes() -> dict[int, tuple[int, int]]:
    """Return parent and group of each process that has not ended.

    Those that have ended may stay in the system's list, where nobody collects them.
    """
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            state, parent, group = path.read_text(errors="replace").rpartition(")")[2].split()[:3]
            if state not in "ZX":
                found[int(path.parent.name)] = int(parent), int(group)
    return found
