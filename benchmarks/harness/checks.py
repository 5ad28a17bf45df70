"""Steps with checked requests beside steps without.

In one process, parties check the requests of every other step. The ratio is the median over pairs
of neighbouring steps. The processor time of one party's checks is measured as well.
"""

import contextlib
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from vfl_flower.common.errors import Interrupted
from vfl_flower.config.run_config import RunConfig
from vfl_flower.parties.active import ActiveParty
from vfl_flower.protocol.automaton.machine import Automaton
from vfl_flower.protocol.observer import Evaluation, Observer
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

WARM_UP = 10
COLUMNS = {
    "method": "",
    "data": "",
    "networks": "",
    "batch": "",
    "checked ms": ".3f",
    "unchecked ms": ".3f",
    "ratio": ".4f",
    "checks of a party, ms": ".4f",
    "share of a step": ".4f",
}


class Watch(Observer):
    """Times steps; every other one is checked."""

    active: ActiveParty

    def __init__(self, pairs: int) -> None:
        self.most, self.clock, self.checks = 2 * pairs + WARM_UP, 0.0, True
        self.times: dict[bool, list[float]] = {True: [], False: []}
        self.spent = list[float]()

    def on_start(self, step: int, steps: int, records: list[Evaluation]) -> None:
        """Start the clock."""
        self.clock = time.perf_counter()

    def on_step(self, step: int, losses: list[float]) -> None:
        """Stop the clock, change sides, start it again."""
        if step > WARM_UP:
            self.times[self.checks].append(time.perf_counter() - self.clock)
        self.checks = not self.checks
        self.active.stop = step >= self.most
        self.clock = time.perf_counter()


@contextmanager
def every_other(watch: Watch) -> Iterator[None]:
    """Check only where the watch says so; time the checks."""

    def timed(check: Callable[..., None]) -> Callable[..., None]:
        def run(*arguments: Any) -> None:  # noqa: ANN401
            if not watch.checks:
                return
            started = time.thread_time()
            check(*arguments)
            watch.spent.append(time.thread_time() - started)

        return run

    with (
        patch.object(Automaton, "check", timed(Automaton.check)),
        patch.object(Automaton, "check_answer", timed(Automaton.check_answer)),
    ):
        yield


def configuration(method: str, dataset: str, models: str, batch: int, data_dir: str) -> RunConfig:
    """Return a run that lasts until it is stopped."""
    return RunConfig(
        method=method,
        dataset=dataset,
        models=models,
        batch_size=batch,
        epochs=10**6,
        eval_every=10**9,
        data_dir=data_dir,
        baselines="off",
        device="cpu",
    )


def compare(cfg: RunConfig, pairs: int) -> tuple[float, ...]:
    """Run the pairs; return a row of the table."""
    watch = Watch(pairs)
    active = watch.active = build_active(cfg)
    active.observer = watch
    with contextlib.suppress(Interrupted), every_other(watch):  # it is told to stop
        run_local(active, [build_passive(cfg, k) for k in range(1, cfg.parties)])
    checked, plain = watch.times[True], watch.times[False]
    ratio = statistics.median(a / b for a, b in zip(checked, plain, strict=False))
    each = sum(watch.spent) / (len(checked) + WARM_UP / 2) / (cfg.parties - 1)
    middle = statistics.median(plain)
    return statistics.median(checked) * 1e3, middle * 1e3, ratio, each * 1e3, each / middle
