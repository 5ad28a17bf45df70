"""Long checks, with results as data."""

import subprocess
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.harness.benchmark import machine, versions
from vfl_flower.common.files import json_bytes, write_atomically

ROOT = Path(__file__).resolve().parents[2]
TAIL = 4000  # characters of a failed command's output that are kept


class Failed(Exception):
    """A check failed.

    Parameters
    ----------
    message : str
        Reason.
    found : dict, optional
        Results so far.
    """

    def __init__(self, message: str, found: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.found = found or {}


@dataclass(frozen=True)
class Job:
    """How a check is to run.

    Parameters
    ----------
    tiny : bool
        Whether a sample is enough, which takes about a minute.
    work : Path
        Folder for files that nobody keeps.
    out : Path
        Folder for results.
    data_dir : str
        Folder with the data sets.
    """

    tiny: bool
    work: Path
    out: Path
    data_dir: str

    def size(self, full: int, tiny: int) -> int:
        """Return the number for this size of job."""
        return tiny if self.tiny else full


Check = Callable[[Job], dict[str, Any]]


def run(name: str, check: Check, job: Job) -> bool:
    """Run a check and write ``NAME.json``; tell whether it passed."""
    started, before = datetime.now(UTC), time.perf_counter()
    error, found = "", dict[str, Any]()
    try:
        found = check(job)
    except Exception as failure:
        error, found = f"{type(failure).__name__}: {failure}", getattr(failure, "found", {})
        traceback.print_exc()
    result = {
        "check": name,
        "passed": not error,
        "error": error,
        "tiny": job.tiny,
        "date": started.isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - before, 1),
        "machine": machine(),
        "versions": versions(),
        "found": found,
    }
    write_atomically(job.out / f"{name}.json", json_bytes(result))
    return not error


def command(words: Sequence[str | Path], **options: Any) -> str:
    """Run a command in the project's folder; return its output.

    A command that fails is an error.
    """
    done = subprocess.run(  # noqa: S603
        [str(word) for word in words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        **options,
    )
    if done.returncode:
        shown = " ".join(str(word) for word in words)
        raise Failed(f"exit code {done.returncode} of {shown}", {"output": done.stdout[-TAIL:]})
    output: str = done.stdout
    return output
