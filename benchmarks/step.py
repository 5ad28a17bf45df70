"""Overhead of the protocol: a method's step beside the joint program.

    python -m benchmarks.step --data-dir DIR [--method easter] [--models cnn,lenet,mlp,mlp]

Steps of the local transport alternate with steps of the joint program (the same mathematics in one
autograd graph) in one process, and the ratio is the median over pairs. Both run on copies of the
same networks and batches. The limit is the least ratio that parties side by side can reach: each
does its own work, as long as in the run one by one, and all of it is spread over the cores with the
gain that independent programs have there. A second table has steps whose requests are checked
beside such whose requests are not.
"""

import os
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from unittest.mock import patch

import numpy as np

os.environ["OMP_WAIT_POLICY"] = "PASSIVE"  # read when torch starts: idle threads must not spin

import torch
from flwr.common import FitIns, FitRes
from torch import Tensor

from benchmarks.harness import checks
from benchmarks.harness.benchmark import DATA_DIR, Arguments, Benchmark, Option
from benchmarks.harness.echo import Caller, echo
from benchmarks.harness.forked import run_forked
from benchmarks.harness.parallel import gain
from benchmarks.harness.report import Report, Table
from tests.helpers.data import labels_of
from tests.helpers.joint.reference import easter_step, parties_of
from tests.helpers.joint.reference_split import splitnn_step
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import Interrupted
from vfl_flower.common.worker import Concurrency, InTurn
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.splitting.rows import rows_of
from vfl_flower.learning.batching import batches
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.privacy.secure_aggregation import Masker
from vfl_flower.protocol.observer import Evaluation, Observer
from vfl_flower.transport.endpoint import Endpoint
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

BESIDE, IN_TURN, CHOSEN = "side by side", "one by one", "as the run chooses"
FORKED = "as processes"
Way = Callable[[ActiveParty, list[PassiveParty]], None]
WAYS: dict[str, Way] = {
    BESIDE: lambda active, passive: run_local(active, passive, Concurrency()),
    IN_TURN: lambda active, passive: run_local(active, passive, InTurn()),
    CHOSEN: lambda active, passive: run_local(active, passive),
    FORKED: run_forked,
}
JOINT: dict[str, Callable[..., None]] = {
    "easter": partial(easter_step, rounded=True),
    "splitnn": splitnn_step,
}
"""Steps of the joint programs, by method."""
WARM_UP = 20  # pairs
WARM_EXCHANGES = 200


class Pairs(Observer):
    """Observer that times the joint program's step after every distributed one."""

    def __init__(self, cfg: RunConfig, pairs: int, threads: int) -> None:
        self.pairs, self.threads = pairs, threads
        self.joint, self.y, self.joint_step = parties_of(cfg), labels_of(cfg), JOINT[cfg.method]
        train = rows_of(cfg, len(self.y))["train"]
        size = cfg.batch_size
        self.batches = iter(b for e in range(cfg.epochs) for b in batches(cfg.seed, e, train, size))
        self.active: ActiveParty
        self.ours: list[float] = []
        self.theirs: list[float] = []
        self.passive: list[list[float]] = []
        self.worked: defaultdict[int, float] = defaultdict(float)
        self.clock = 0.0

    def on_start(self, step: int, steps: int, records: list[Evaluation]) -> None:
        """Start the clock."""
        self.clock = time.perf_counter()

    def on_step(self, step: int, losses: list[float]) -> None:
        """Stop the clock, take the joint step, start it again."""
        self.ours.append(time.perf_counter() - self.clock)
        self.passive.append([self.worked.pop(rank) for rank in sorted(self.worked)])
        rows = torch.from_numpy(next(self.batches))
        if self.threads > 1:
            torch.set_num_threads(self.threads)
        started = time.perf_counter()
        self.joint_step(self.joint, rows, self.y, self.active.loss)
        self.theirs.append(time.perf_counter() - started)
        if self.threads > 1:
            torch.set_num_threads(1)
        self.active.stop = step >= self.pairs + WARM_UP
        self.clock = time.perf_counter()

    def summary(self) -> tuple[float, float, float]:
        """Return both medians in milliseconds and the median of the paired ratios."""
        ours, theirs = np.array(self.ours[WARM_UP:]), np.array(self.theirs[WARM_UP:])
        return np.median(ours) * 1e3, np.median(theirs) * 1e3, np.median(ours / theirs)

    def parties(self) -> list[float]:
        """Return each party's median milliseconds a step, the active one's first.

        Where parties work in turn, the active one works while no other does.
        """
        passive = np.array(self.passive[WARM_UP:])
        active = np.array(self.ours[WARM_UP:]) - passive.sum(1)
        return [float(np.median(party)) * 1e3 for party in (active, *passive.T)]


@contextmanager
def masking_timed(spent: list[float]) -> Iterator[None]:
    """Append how long every call of `Masker.mask` takes."""
    plain = Masker.mask

    def timed(self: Masker, x: Tensor, *how: float | None) -> Array:
        started = time.perf_counter()
        words = plain(self, x, *how)  # type: ignore[arg-type]
        spent.append(time.perf_counter() - started)
        return words

    with patch.object(Masker, "mask", timed):
        yield


@contextmanager
def parties_timed(watch: Pairs) -> Iterator[None]:
    """Add up how long each passive party works."""
    plain = Endpoint.fit

    def timed(self: Endpoint, ins: FitIns) -> FitRes:
        started = time.perf_counter()
        res = plain(self, ins)
        watch.worked[self.party.rank] += time.perf_counter() - started
        return res

    with patch.object(Endpoint, "fit", timed):
        yield


def least(parties: Sequence[float], speed: float) -> float:
    """Return the least time of a step with parties side by side.

    Parameters
    ----------
    parties : sequence of float
        Each party's own time in a step.
    speed : float
        Gain of programs side by side over the same in turn.
    """
    return max(sum(parties) / speed, *parties)


def steps(cfg: RunConfig, watch: Pairs, way: Way) -> float:
    """Run the pairs; return masking's share of one party's step."""
    active = watch.active = build_active(cfg)
    passive = [build_passive(cfg, k) for k in range(1, cfg.parties)]
    active.observer = watch
    spent: list[float] = []
    # It is told to stop.
    with suppress(Interrupted), masking_timed(spent), parties_timed(watch):
        way(active, passive)
    return statistics.median(spent or [0.0]) / statistics.median(watch.ours)


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
    "limit": ".3f",
}


def compare(cfg: RunConfig, given: Arguments, table: Table) -> float:
    """Fill the table of steps; return masking's share of one."""
    watches, shares = {}, {}
    # The joint program's second thread spins for a while after each step: it comes last.
    for how, threads in ((FORKED, 1), (BESIDE, 1), (IN_TURN, 1), (CHOSEN, 1), (CHOSEN, 2)):
        watch = watches[how, threads] = Pairs(cfg, given.pairs, threads)
        shares[how] = steps(cfg, watch, WAYS[how])
    cores = min(max(os.cpu_count() or 1, 2), cfg.parties)
    shortest = least(watches[IN_TURN, 1].parties(), gain(cores, tiny=given.tiny))
    for (how, threads), watch in watches.items():
        ours, theirs, ratio = watch.summary()
        table.add(how, ours, theirs, threads, ratio, shortest / theirs if how != IN_TURN else None)
    return shares[BESIDE]


def measure(given: Arguments, report: Report) -> None:
    """Measure steps, masking and latency."""
    cfg = RunConfig(
        method=given.method,
        device="cpu",
        dataset=given.dataset,
        data_dir=given.data_dir,
        download=False,
        models=given.models,
        optimizers="sgd",
        epochs=given.pairs + WARM_UP,  # it is told to stop before
        eval_every=10**6,
    )
    title = f"a step of {given.method} on {given.dataset}, 4 parties: {given.models}"
    share = compare(cfg, given, report.table(title, COLUMNS))
    prices = report.table("requests checked and not", checks.COLUMNS)
    for dataset, models, batch in (("digits", "mlp", 128), (given.dataset, given.models, 512)):
        for method in ("easter", "splitnn"):
            run = checks.configuration(method, dataset, models, batch, given.data_dir)
            prices.add(method, dataset, models, batch, *checks.compare(run, given.pairs))
    p50, p99 = np.quantile(latency(given.exchanges), (0.5, 0.99)) * 1e3
    report.fact("torch threads a party", cfg.threads)
    report.fact("share of a step that one party spends on masking", share)
    report.fact("exchange of (16,) float32 with 3 parties, median ms", p50)
    report.fact("exchange of (16,) float32 with 3 parties, p99 ms", p99)


BENCHMARK = Benchmark(
    measure,
    {
        "data_dir": DATA_DIR,
        "dataset": Option("mnist", tiny="digits"),
        "method": Option("easter", help=", ".join(JOINT)),
        "models": Option("cnn,lenet,mlp,mlp", help="networks of the four parties"),
        "pairs": Option(300, tiny=2, help="pairs of steps"),
        "exchanges": Option(1800, tiny=20, help="exchanges of a small array"),
    },
)

if __name__ == "__main__":
    BENCHMARK.run()
