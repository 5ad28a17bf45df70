"""What the protocol costs: a step of EASTER against the joint program, blinding, and latency.

    python -m benchmarks.step --data-dir DIR [--models cnn,lenet,mlp,mlp] [--pairs 300]

Steps of the local carrier alternate with steps of the joint program (the same mathematics in one
autograd graph) in one process, and the ratio is the median over pairs. Both run on copies of the
same networks and batches.
"""

import argparse
import contextlib
import os
import platform
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from tests.reference import easter_step, members_of
from vfl_flower.active import ActiveParty
from vfl_flower.blinding import Blinder
from vfl_flower.build import build_active, build_member, build_passive
from vfl_flower.codec import Array
from vfl_flower.config import RunConfig
from vfl_flower.data import columns_of, labels_of, rows_of
from vfl_flower.errors import Interrupted
from vfl_flower.exchange import Protocol, ask
from vfl_flower.local import run_local
from vfl_flower.observer import Evaluation, Observer
from vfl_flower.passive import PassiveParty, phase
from vfl_flower.randomness import batches

WARM_UP = 20  # pairs


class Pairs(Observer):
    """After every distributed step, takes and times the joint program's, for each thread count."""

    def __init__(self, cfg: RunConfig, pairs: int, active: ActiveParty) -> None:
        self.threads = (1, 2)
        self.joint = {n: members_of(cfg) for n in self.threads}
        self.y = labels_of(cfg)
        train = rows_of(cfg, len(self.y))["train"]
        self.batches = iter(b for e in range(cfg.epochs) for b in batches(cfg.seed, e, train, 128))
        self.active, self.pairs = active, pairs
        self.ours: list[float] = []
        self.theirs: dict[int, list[float]] = {n: [] for n in self.threads}
        self.clock = 0.0

    def on_start(self, step: int, steps: int, records: list[Evaluation]) -> None:
        """Start the clock."""
        self.clock = time.perf_counter()

    def on_step(self, step: int, losses: list[float]) -> None:
        """Stop the clock, take the joint steps, start it again."""
        self.ours.append(time.perf_counter() - self.clock)
        rows = torch.from_numpy(next(self.batches))
        for n in self.threads:
            torch.set_num_threads(n)
            started = time.perf_counter()
            easter_step(self.joint[n], rows, self.y, self.active.loss, rounded=True)
            self.theirs[n].append(time.perf_counter() - started)
        torch.set_num_threads(1)
        self.active.stop = step >= self.pairs + WARM_UP
        self.clock = time.perf_counter()


@contextmanager
def blinding_timed(spent: list[float]) -> Iterator[None]:
    """Append how long every call of `Blinder.blind` takes."""
    plain = Blinder.blind

    def timed(self: Blinder, x: Tensor) -> Array:
        started = time.perf_counter()
        words = plain(self, x)
        spent.append(time.perf_counter() - started)
        return words

    with patch.object(Blinder, "blind", timed):
        yield


def steps(cfg: RunConfig, pairs: int, *, side_by_side: bool) -> tuple[Pairs, float]:
    """Run the pairs; return them and blinding's share of a step."""
    active = build_active(cfg)
    passive = [build_passive(cfg, k) for k in range(cfg.parties - 1)]
    watch = Pairs(cfg, pairs, active)
    active.observer = watch
    spent: list[float] = []
    with (
        contextlib.suppress(Interrupted),  # it is told to stop after the pairs
        blinding_timed(spent),
        sequential(active, enabled=not side_by_side),
    ):
        run_local(active, passive)
    share = statistics.median(spent) / statistics.median(watch.ours)
    return watch, share


@contextmanager
def sequential(active: ActiveParty, *, enabled: bool) -> Iterator[None]:
    """Make the parties work one after the other, and the active party's own work first."""
    if not enabled:
        yield
        return

    def one_by_one(pool, instructions, timeout, exchange):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        if active._own is not None:  # noqa: SLF001
            active._own.exception()  # noqa: SLF001  waits
        return [(p, pool.submit(p.fit, i, timeout, exchange).result()) for p, i in instructions], []

    with patch("vfl_flower.server._fit_all", one_by_one):
        yield


class Echo(PassiveParty):
    """Sends back what it gets."""

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
    cfg = RunConfig(models="mlp")
    x = columns_of(cfg, 0)
    caller = Caller(build_member(cfg, 0, x), labels_of(cfg), rows_of(cfg, len(x)))
    run_local(caller, [Echo(build_member(cfg, place, x)) for place in (1, 2, 3)])
    return caller.times[200:]


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data-dir", type=Path, required=True)
    options.add_argument("--models", default="cnn,lenet,mlp,mlp")
    options.add_argument("--pairs", type=int, default=300)
    given = options.parse_args()
    cfg = RunConfig(
        dataset="mnist",
        data_dir=str(given.data_dir),
        download=False,
        models=given.models,
        optimizers="sgd",
    )
    cfg = replace(cfg, epochs=1 + given.pairs // 400, eval_every=10**6)
    table = Table(title=f"EASTER, MNIST, 4 parties, {given.models}: {platform.processor()}")
    for column in ("parties run", "ours ms", "joint ms, threads 1", "2", "ratio to 1", "to 2"):
        table.add_column(column, justify="right")
    shares = []
    for side_by_side in (True, False):
        watch, share = steps(cfg, given.pairs, side_by_side=side_by_side)
        shares.append(share)
        ours = watch.ours[WARM_UP:]
        theirs = {n: t[WARM_UP:] for n, t in watch.theirs.items()}
        ratios = [statistics.median(np.divide(ours, theirs[n])) for n in watch.threads]
        medians = [statistics.median(t) * 1e3 for t in (ours, *theirs.values())]
        table.add_row(
            "side by side" if side_by_side else "one by one",
            *(f"{m:.2f}" for m in medians),
            *(f"{r:.3f}" for r in ratios),
        )
    times = latency()
    out = Console()
    out.print(table)
    out.print(f"{given.pairs} pairs; {cfg.threads} torch thread a party; {os.cpu_count()} cores")
    out.print(f"blinding, one party: {max(shares):.2%} of a step")
    p50, p99 = np.quantile(times, (0.5, 0.99)) * 1e3
    out.print(f"exchange of (16,) float32 with 3 parties: median {p50:.3f} ms, p99 {p99:.3f} ms")


if __name__ == "__main__":
    main()
