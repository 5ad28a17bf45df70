"""Repeated runs in one process: equal weights, no leaks."""

import contextlib
import gc
import io
import threading
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.helpers.outcomes.commands import train
from tests.long.check import Failed, Job

FLAGS = (
    "--parties",
    "3",
    "--models",
    "mlp",
    "--epochs",
    "2",
    "--baselines",
    "off",
    "--device",
    "cpu",
)
KIB, MIB = 1 << 10, 1 << 20
WARM_UP = 2  # runs until caches and thread pools are filled
MOST_GROWTH = 32 * MIB


def resident() -> int:
    """Return this process's resident memory in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * KIB for line in lines if line.startswith("VmRSS"))


def one(folder: Path) -> dict[str, Any]:
    """Train once; return the weights' digest and the process's resources."""
    started = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        code = train([*FLAGS, "--out", str(folder)])
    if code:
        raise Failed(f"exit code {code}")
    digest = sha256()
    for path in sorted(folder.rglob("weights.safetensors")):
        digest.update(path.read_bytes())
    gc.collect()
    return {
        "weights": digest.hexdigest()[:16],
        "seconds": round(time.perf_counter() - started, 3),
        "resident": resident(),
        "files": len(list(Path("/proc/self/fd").iterdir())),
        "threads": threading.active_count(),
    }


def soak(job: Job) -> dict[str, Any]:
    """Train many times; memory, files and threads stay as they were."""
    runs = [one(job.work / f"soak-{number}") for number in range(job.size(500, 6))]
    found = {"runs": runs}
    first, last = runs[WARM_UP], runs[-1]
    if len({each["weights"] for each in runs}) > 1:
        raise Failed("weights differ between runs", found)
    for name in ("files", "threads"):
        if last[name] > first[name]:
            raise Failed(f"{name} grow from {first[name]} to {last[name]}", found)
    if last["resident"] - first["resident"] > MOST_GROWTH:
        raise Failed("memory grows by more than 32 MiB", found)
    return found
