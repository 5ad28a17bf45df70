"""Large tables: the example with a million customers, and alignment."""

import os
import runpy
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from tests.long.check import ROOT, Failed, Job, command

KIB = 1 << 10


def make_tables(folder: Path, customers: int) -> None:
    """Write the example's tables with so many customers."""
    example = runpy.run_path(str(ROOT / "examples/bank-and-shop/make_tables.py"))
    write = example["write"]
    write.__globals__.update(PEOPLE=customers, NEW=max(customers // 10, 100))
    write(folder, np.random.default_rng(example["SEED"]))


def measured(words: list[str]) -> dict[str, Any]:
    """Run the program; return its seconds and its peak memory in bytes."""
    started = time.perf_counter()
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "vfl_flower", *words], cwd=ROOT, stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise Failed(f"exit code {process.returncode} of {' '.join(words)}")
    return {"seconds": round(time.perf_counter() - started, 1), "peak": usage.ru_maxrss * KIB}


def tables(job: Job) -> dict[str, Any]:
    """Align, train and predict with tables; align ids alone."""
    folder, rows = job.work / "tables", job.size(1_000_000, 2000)
    make_tables(folder, rows)
    given = f"{folder / 'bank.toml'},{folder / 'shop.toml'}"
    new = f"{folder / 'new-bank.toml'},{folder / 'new-shop.toml'}"
    run, scores = job.work / "run", job.work / "scores.csv"
    own = ["--dataset", "own", "--parties", "2", "--tables", given]
    train = ["--method", "splitnn", "--models", "mlp", "--epochs", "1", "--baselines", "off"]
    found: dict[str, Any] = {"customers": rows}
    found["train"] = measured(["train", *own, *train, "--out", str(run)])
    found["predict"] = measured(["predict", str(run), "--tables", new, "--out", str(scores)])
    found["predicted"] = len(scores.read_text().splitlines()) - 1
    sizes = [] if job.tiny else ["--sizes", "1000000", "--repeats", "1"]
    result = job.out / "psi.json"
    tiny = ["--tiny"] if job.tiny else []
    command([sys.executable, "-m", "benchmarks.psi", *tiny, *sizes, "--json", result])
    return found
