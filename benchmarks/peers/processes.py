"""Run a program, and watch the memory of all its processes.

They are known by an environment variable, which programs that leave their parent keep.
"""

import os
import secrets
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from benchmarks.peers.errors import PeerError

MARK = "PEERS_RUN"
PROC = Path("/proc")
LOOK, KIB = 1.0, 1024
LAST = 4000
"""Characters of a program's output that can hold its last line."""


def run(command: Sequence[str], env: Mapping[str, str], log: Path, limit: float) -> int | None:
    """Run a program; end all processes that stay behind.

    Parameters
    ----------
    command : sequence of str
        Program and arguments.
    env : mapping of str to str
        Environment variables beside this process's.
    log : Path
        File for its output.
    limit : float
        Seconds that it may take.

    Returns
    -------
    int or None
        Peak memory of all its processes in bytes, where it is known.

    Raises
    ------
    PeerError
        If it fails or takes longer; the last line of its output is the reason.
    """
    mark, peak, begun = secrets.token_hex(8), 0, time.perf_counter()
    whole = {**os.environ, **env, MARK: mark}
    with log.open("wb") as out:
        process = subprocess.Popen(command, env=whole, stdout=out, stderr=out)  # noqa: S603
    try:
        while process.poll() is None and time.perf_counter() - begun < limit:
            peak = max(peak, sum(map(_memory, _marked(mark))))
            time.sleep(LOOK)
    finally:
        for pid in _marked(mark):
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
    if code := process.wait():
        raise PeerError(f"{_last_line(log)} (exit code {code})")
    return peak or None


def _marked(mark: str) -> Iterator[int]:
    """Yield the processes of a run."""
    sought = f"{MARK}={mark}".encode()
    for folder in PROC.glob("[0-9]*"):
        with suppress(OSError):
            if sought in (folder / "environ").read_bytes():
                yield int(folder.name)


def _memory(pid: int) -> int:
    """Return a process's memory in bytes, pages that others share in proportion."""
    with suppress(OSError):
        lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * KIB
    return 0


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace")[-LAST:].split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "no output")
