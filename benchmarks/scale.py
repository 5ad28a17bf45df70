"""Time and memory by parties and rows: EASTER on made tables.

    python -m benchmarks.scale [--parties 3,10,30,100] [--rows 10000,100000,1000000]

Every party holds four columns and an MLP. Each measurement is a process of its own, so that peak
memory is that run's.
"""

import contextlib
import multiprocessing
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from unittest.mock import patch

import numpy as np

from benchmarks.harness.benchmark import Arguments, Benchmark, Option
from benchmarks.harness.report import Report
from vfl_flower.common.errors import Interrupted
from vfl_flower.config.dataset_specs import DATASETS, DataSetSpec
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.columns import Features, Labels
from vfl_flower.data.datasets import DataSet
from vfl_flower.parties.active import ActiveParty
from vfl_flower.protocol.observer import Evaluation, Observer
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

STEPS, WARM_UP, COLUMNS = 30, 5, 4


def made(passive: int, rows: int) -> DataSet:
    """Make a table whose label is the sign of its columns' sum."""
    width = COLUMNS * (passive + 1)

    def features(folder: Path, download: bool) -> Features:
        return np.random.default_rng(0).standard_normal((rows, width), np.float32)

    def labels(folder: Path, download: bool) -> Labels:
        positive: Labels = (features(folder, download).sum(1) > 0).astype(np.int64)
        return positive

    return DataSet(2, 0, features, labels)


class Watch(Observer):
    """Times steps, and stops after some."""

    def __init__(self, active: ActiveParty) -> None:
        self.active, self.steps = active, [time.perf_counter()]

    def on_start(self, step: int, steps: int, records: list[Evaluation]) -> None:
        """Begin with the first step's start."""
        self.steps = [time.perf_counter()]

    def on_step(self, step: int, losses: list[float]) -> None:
        """Note when the step was done."""
        self.steps.append(time.perf_counter())
        self.active.stop = step >= STEPS + WARM_UP


def train(passive: int, rows: int) -> dict[str, float]:
    """Train for some steps in this process."""
    spec = DataSetSpec(f"{__name__}:MADE")
    with patch.dict(DATASETS, made=spec), patch.dict(globals(), MADE=made(passive, rows)):
        started = time.perf_counter()
        cfg = RunConfig(
            dataset="made", parties=passive + 1, eval_every=10**6, baselines="off", device="cpu"
        )
        parties = [build_passive(cfg, rank) for rank in range(1, passive + 1)]
        active = build_active(cfg)
        watch = active.observer = Watch(active)
        with contextlib.suppress(Interrupted):  # it is told to stop
            run_local(active, parties)
    return {
        "start": watch.steps[0] - started,
        "step": float(np.median(np.diff(watch.steps)[WARM_UP:])),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def apart(passive: int, rows: int) -> dict[str, float]:
    """Train in a process of its own."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(train, passive, rows).result()


def measure(given: Arguments, report: Report) -> None:
    """Measure many parties with few rows, then 10 with more."""
    many, long = ([int(n) for n in text.split(",")] for text in (given.parties, given.rows))
    columns = {"passive parties": "", "rows": ",", "start s": ".1f", "step ms": ".1f"}
    columns |= {"a party ms": ".2f", "peak MiB": ".0f"}
    table = report.table("EASTER, masked, B = 128, D = 64; local transport", columns)
    for passive, rows in [(k, long[0]) for k in many] + [(10, n) for n in long[1:]]:
        found = apart(passive, rows)
        step = found["step"] * 1e3
        table.add(passive, rows, found["start"], step, step / passive, found["memory"])


BENCHMARK = Benchmark(
    measure,
    {
        "parties": Option("3,10,30,100", tiny="2", help="numbers of passive parties"),
        "rows": Option("10000,100000,1000000", tiny="10000", help="numbers of rows"),
    },
)

if __name__ == "__main__":
    BENCHMARK.run()
