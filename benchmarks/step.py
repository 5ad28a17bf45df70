"""Overhead of the protocol: EASTER's step beside the joint program.

    python -m benchmarks.step --data-dir DIR [--models cnn,lenet,mlp,mlp] [--pairs 300]

Steps of the local transport alternate with steps of the joint program (the same mathematics in one
autograd graph) in one process, and the ratio is the median over pairs. Both run on copies of the
same networks and batches. A second table has steps whose requests are checked beside such whose
requests are not.
"""

import contextlib
import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

os.environ["OMP_WAIT_POLICY"] = "PASSIVE"  # read when torch starts: idle threads must not spin

import torch
from torch import Tensor

from benchmarks.harness import checks
from benchmarks.harness.benchmark import DATA_DIR, Arguments, Benchmark, Option
from benchmarks.harness.echo import Caller, echo
from benchmarks.harness.report import Report
from tests.helpers.data import labels_of
from tests.helpers.joint.reference import easter_step, parties_of
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import Interrupted
from vfl_flower.common.worker import Job, Worker
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.splitting.rows import rows_of
from vfl_flower.learning.batching import batches
from vfl_flower.parties.active import ActiveParty
from vfl_flower.privacy.secure_aggregation import Masker
from vfl_flower.protocol.observer import Evaluation, Observer
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

WARM_UP = 20  # pairs
WARM_EXCHANGES = 200


class Pairs(Observer):
    """Observer that times the joint program's step after every distributed one."""

    def __init__(self, cfg: RunConfig, pairs: int, threads: int) -> None:
        self.pairs, self.threads = pairs, threads
        self.joint, self.y = parties_of(cfg), labels_of(cfg)
        train = rows_of(cfg, len(self.y))["train"]
        size = cfg.batch_size
        self.batches = iter(b for e in range(cfg.epochs) for b in batches(cfg.seed, e, train, size))
        self.active: ActiveParty
        self.ours: list[float] = []
        self.theirs: list[float] = []
        self.clock = 0.0

    def on_start(self, step: int, steps: int, records: list[Evaluation]) -> None:
        """Start the clock."""
        self.clock = time.perf_counter()

    def on_step(self, step: int, losses: list[float]) -> None:
        """Stop the clock, take the joint step, start it again."""
        self.ours.append(time.perf_counter() - self.clock)
        rows = torch.from_numpy(next(self.batches))
        if self.threads > 1:
            torch.set_num_threads(self.threads)
        started = time.perf_counter()
        easter_step(self.joint, rows, self.y, self.active.loss, rounded=True)
        self.theirs.append(time.perf_counter() - started)
        if self.threads > 1:
            torch.set_num_threads(1)
        self.active.stop = step >= self.pairs + WARM_UP
        self.clock = time.perf_counter()

    def summary(self) -> tuple[float, float, float]:
        """Return both medians in milliseconds and the median of the paired ratios."""
        ours, theirs = np.array(self.ours[WARM_UP:]), np.array(self.theirs[WARM_UP:])
        return np.median(ours) * 1e3, np.median(theirs) * 1e3, np.median(ours / theirs)


@contextmanager
def masking_timed(spent: list[float]) -> Iterator[None]:
    """Append how long every call of `Masker.mask` takes."""
    plain = Masker.mask

    def timed(
        self: Masker, x: Tensor, weight: int = 1, total: int | None = None, position: int = 0
    ) -> Array:
        started = time.perf_counter()
        words = plain(self, x, weight, total, position)
        spent.append(time.perf_counter() - started)
        return words

    with patch.object(Masker, "mask", timed):
        yield


def steps(cfg: RunConfig, watch: Pairs) -> float:
    """Run the pairs; return masking's share of one party's step."""
    active = watch.active = build_active(cfg)
    passive = [build_passive(cfg, k) for k in range(1, cfg.parties)]
    active.observer = watch
    spent: list[float] = []
    with contextlib.suppress(Interrupted), masking_timed(spent):  # it is told to stop
        run_local(active, passive)
    return statistics.median(spent) / statistics.median(watch.ours)


def at_once(self: Worker, job: Job) -> None:
    """Do a worker's job in the calling thread; `Worker.result` has its end."""
    try:
        self._done.put((job(), None))
    except BaseException as error:
        self._done.put((None, error))


def one_by_one() -> contextlib.AbstractContextManager[object]:
    """Let all parties work in the calling thread, in turn."""
    return patch.object(Worker, "submit", at_once)


def latency(exchanges: int) -> list[float]:
    """Return seconds per exchange of (16,) float32 with three parties."""
    cfg = RunConfig(models="mlp", device="cpu")
    caller = Caller.of(cfg, np.zeros(16, np.float32), WARM_EXCHANGES + exchanges)
    run_local(caller, [echo(cfg, k) for k in range(1, cfg.parties)])
    return caller.spent[WARM_EXCHANGES:]


COLUMNS = {
    "parties run": "",
    "ours ms": ".2f",
    "joint ms": ".2f",
    "joint's threads": "",
    "ratio": ".3f",
}


def measure(given: Arguments, report: Report) -> None:
    """Measure steps, masking and latency."""
    cfg = RunConfig(
        device="cpu",
        dataset=given.dataset,
        data_dir=given.data_dir,
        download=False,
        models=given.models,
        optimizers="sgd",
        epochs=given.pairs + WARM_UP,  # it is told to stop before
        eval_every=10**6,
    )
    title = f"a step of EASTER on {given.dataset}, 4 parties: {given.models}"
    table = report.table(title, COLUMNS)
    shares = []
    # The joint program's second thread spins for a while after each step: it comes last.
    for how, threads in (("side by side", 1), ("one by one", 1), ("side by side", 2)):
        watch = Pairs(cfg, given.pairs, threads)
        with one_by_one() if how == "one by one" else contextlib.nullcontext():
            shares.append(steps(cfg, watch))
        ours, theirs, ratio = watch.summary()
        table.add(how, ours, theirs, threads, ratio)
    prices = report.table("requests checked and not", checks.COLUMNS)
    for dataset, models, batch in (("digits", "mlp", 128), (given.dataset, given.models, 512)):
        for method in ("easter", "splitnn"):
            run = checks.configuration(method, dataset, models, batch, given.data_dir)
            prices.add(method, dataset, models, batch, *checks.compare(run, given.pairs))
    p50, p99 = np.quantile(latency(given.exchanges), (0.5, 0.99)) * 1e3
    report.fact("torch threads a party", cfg.threads)
    report.fact("share of a step that one party spends on masking", shares[0])
    report.fact("exchange of (16,) float32 with 3 parties, median ms", p50)
    report.fact("exchange of (16,) float32 with 3 parties, p99 ms", p99)


BENCHMARK = Benchmark(
    measure,
    {
        "data_dir": DATA_DIR,
        "dataset": Option("mnist", tiny="digits"),
        "models": Option("cnn,lenet,mlp,mlp", help="networks of the four parties"),
        "pairs": Option(300, tiny=2, help="pairs of steps"),
        "exchanges": Option(1800, tiny=20, help="exchanges of a small array"),
    },
)

if __name__ == "__main__":
    BENCHMARK.run()
