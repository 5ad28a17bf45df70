"""Time and memory by parties and rows: EASTER on made tables.

    python -m benchmarks.scale [--parties 3,10,30,100] [--rows 10000,100000,1000000]

Every party holds four columns and an MLP. Passive parties all mask each other, or, if half of them
may collude (``--sparse``), neighbours do. Each measurement is a process of its own, so that peak
memory is that run's.
"""

import contextlib
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from benchmarks.harness.benchmark import Arguments, Benchmark, Option
from benchmarks.harness.made_table import NAME, made_table
from benchmarks.harness.report import Report
from vfl_flower.common.errors import Interrupted
from vfl_flower.config.run_config import RunConfig
from vfl_flower.parties.active import ActiveParty
from vfl_flower.privacy.secure_aggregation import masks_of_each
from vfl_flower.protocol.observer import Evaluation, Observer
from vfl_flower.runs.memory import peak_memory
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

STEPS, WARM_UP, COLUMNS = 20, 5, 4
ALL, HALF = 1.0, 0.5  # shares of passive parties that may collude


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


def train(passive: int, rows: int, share: float) -> dict[str, float]:
    """Train for some steps in this process."""
    with made_table(rows, COLUMNS * (passive + 1)):
        started = time.perf_counter()
        cfg = RunConfig(
            dataset=NAME,
            parties=passive + 1,
            colluding_share=share,
            eval_every=10**6,
            baselines="off",
            device="cpu",
        )
        parties = [build_passive(cfg, rank) for rank in range(1, passive + 1)]
        active = build_active(cfg)
        watch = active.observer = Watch(active)
        with contextlib.suppress(Interrupted):  # it is told to stop
            run_local(active, parties)
    return {
        "others": masks_of_each(cfg),
        "start": watch.steps[0] - started,
        "step": float(np.median(np.diff(watch.steps)[WARM_UP:])),
        "memory": (peak_memory() or 0) / (1 << 20),
    }


def apart(passive: int, rows: int, share: float) -> dict[str, float]:
    """Train in a process of its own."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(train, passive, rows, share).result()


def measure(given: Arguments, report: Report) -> None:
    """Measure many parties with few rows, then 10 with more."""
    asked = (given.parties, given.sparse, given.rows)
    many, sparse, long = ([int(n) for n in text.split(",")] for text in asked)
    columns = {"passive parties": "", "masks with": "", "rows": ",", "start s": ".1f"}
    columns |= {"step ms": ".1f", "a party ms": ".2f", "peak MiB": ".0f"}
    table = report.table("EASTER, masked, B = 128, D = 64; local transport", columns)
    runs = [(k, long[0], ALL) for k in many] + [(k, long[0], HALF) for k in sparse]
    for passive, rows, share in runs + [(10, n, ALL) for n in long[1:]]:
        found = apart(passive, rows, share)
        step = found["step"] * 1e3
        times = found["start"], step, step / passive
        table.add(passive, found["others"], rows, *times, found["memory"])


BENCHMARK = Benchmark(
    measure,
    {
        "parties": Option("3,10,30,100", tiny="2", help="numbers of passive parties"),
        "sparse": Option("10,100,1000", tiny="9", help="those of which half may collude"),
        "rows": Option("10000,100000,1000000", tiny="10000", help="numbers of rows"),
    },
)

if __name__ == "__main__":
    BENCHMARK.run()
