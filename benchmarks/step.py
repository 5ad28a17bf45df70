"""Overhead of the protocol: EASTER's step beside the joint program.

    python -m benchmarks.step --data-dir DIR [--models cnn,lenet,mlp,mlp] [--pairs 300]

Steps of the local carrier alternate with steps of the joint program (the same mathematics in one
autograd graph) in one process, and the ratio is the median over pairs. Both run on copies of the
same networks and batches.
"""

import argparse
import contextlib
import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np

os.environ["OMP_WAIT_POLICY"] = "PASSIVE"  # read when torch starts: idle threads must not spin

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from tests.helpers.data import labels_of
from tests.helpers.reference import easter_step, members_of
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import Interrupted
from vfl_flower.common.worker import Job
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.loading import load_parties
from vfl_flower.data.splits import rows_of
from vfl_flower.learning.batching import batches
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.privacy.secure_aggregation import Masker
from vfl_flower.protocol.components import phase
from vfl_flower.protocol.exchange import Protocol, ask
from vfl_flower.protocol.observer import Evaluation, Observer
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_learner import build_learner
from vfl_flower.workflows.build_parties import build_active, build_passive

WARM_UP = 20  # pairs


class Pairs(Observer):
    """Observer that times the joint program's step after every distributed one."""

    def __init__(self, cfg: RunConfig, pairs: int, threads: int) -> None:
        self.pairs, self.threads = pairs, threads
        self.joint, self.y = members_of(cfg), labels_of(cfg)
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
def blinding_timed(spent: list[float]) -> Iterator[None]:
    """Append how long every call of `Masker.blind` takes."""
    plain = Masker.blind

    def timed(self: Masker, x: Tensor) -> Array:
        started = time.perf_counter()
        words = plain(self, x)
        spent.append(time.perf_counter() - started)
        return words

    with patch.object(Masker, "blind", timed):
        yield


def steps(cfg: RunConfig, watch: Pairs) -> float:
    """Run the pairs; return masking's share of one party's step."""
    active = watch.active = build_active(cfg)
    passive = [build_passive(cfg, k) for k in range(cfg.parties - 1)]
    active.observer = watch
    spent: list[float] = []
    with contextlib.suppress(Interrupted), blinding_timed(spent):  # it is told to stop
        run_local(active, passive)
    return statistics.median(spent) / statistics.median(watch.ours)


class Inline:
    """A worker without a thread: everything happens one after the other."""

    def __init__(self) -> None:
        self.job: Job

    def submit(self, job: Job) -> None:
        """Keep the job."""
        self.job = job

    def result(self) -> object:
        """Do it now."""
        return self.job()

    def close(self) -> None:
        """Do nothing."""


@contextmanager
def one_by_one() -> Iterator[None]:
    """Let all parties work in the calling thread, in turn."""
    with (
        patch("vfl_flower.common.worker.Worker", Inline),
        patch("vfl_flower.common.worker.Worker", Inline),
    ):
        yield


class Echo(PassiveParty):
    """Returns every array unchanged."""

    @phase
    def echo(self, x: Tensor) -> Tensor:
        """Return the array."""
        return x


class Caller(ActiveParty):
    """Exchanges a small array many times."""

    def protocol(self) -> Protocol:
        """Time each exchange."""
        self.times: list[float] = []
        x = np.zeros(16, np.float32)
        for _ in range(2000):
            started = time.perf_counter()
            yield ask("echo", x)
            self.times.append(time.perf_counter() - started)


def latency() -> list[float]:
    """Return seconds per exchange of (16,) float32 with three parties."""
    cfg = RunConfig(models="mlp", device="cpu")
    active, *passive = load_parties(cfg)
    caller = Caller(build_learner(cfg, active), labels_of(cfg), active.rows)
    run_local(caller, [Echo(build_learner(cfg, data)) for data in passive])
    return caller.times[200:]


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data-dir", type=Path, required=True)
    options.add_argument("--models", default="cnn,lenet,mlp,mlp")
    options.add_argument("--pairs", type=int, default=300)
    given = options.parse_args()
    cfg = RunConfig(
        device="cpu",
        dataset="mnist",
        data_dir=str(given.data_dir),
        download=False,
        models=given.models,
        optimizers="sgd",
    )
    cfg = replace(cfg, epochs=1 + given.pairs // 400, eval_every=10**6)
    table = Table(title=f"a step of EASTER on MNIST, 4 parties: {given.models}")
    for column in ("parties run", "ours ms", "joint ms", "joint's threads", "ratio"):
        table.add_column(column, justify="right")
    shares = []
    # The joint program's second thread spins for a while after each step: it comes last.
    for how, threads in (("side by side", 1), ("one by one", 1), ("side by side", 2)):
        watch = Pairs(cfg, given.pairs, threads)
        with one_by_one() if how == "one by one" else contextlib.nullcontext():
            shares.append(steps(cfg, watch))
        ours, theirs, ratio = watch.summary()
        table.add_row(how, f"{ours:.2f}", f"{theirs:.2f}", str(threads), f"{ratio:.3f}")
    times = latency()
    out = Console()
    out.print(table)
    out.print(f"{given.pairs} pairs; {cfg.threads} torch thread a party; {os.cpu_count()} cores")
    out.print(f"blinding takes one party {shares[0]:.2%} of a step")
    p50, p99 = np.quantile(times, (0.5, 0.99)) * 1e3
    out.print(f"exchange of (16,) float32 with 3 parties: median {p50:.3f} ms, p99 {p99:.3f} ms")


if __name__ == "__main__":
    main()
