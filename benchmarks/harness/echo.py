"""Parties that send an array to and fro, to time exchanges."""

import time
from collections.abc import Sequence
from typing import Self

from torch import Tensor

from tests.helpers.data import labels_of
from vfl_flower.common.codec import Array
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.loading import load_party
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.protocol.automaton.arrays import floats
from vfl_flower.protocol.components import phase
from vfl_flower.protocol.exchange import Protocol, ask
from vfl_flower.workflows.build_learner import build_learner


class Echo(PassiveParty):
    """Returns every array unchanged."""

    @phase(takes=floats("n"), gives=floats("n"), sends="control")
    def echo(self, x: Tensor) -> Tensor:
        """Return the array."""
        return x


class Caller(ActiveParty):
    """Exchanges one array many times; `spent` has each exchange's seconds."""

    sent: Array
    times: int
    spent: list[float]

    @classmethod
    def of(cls, cfg: RunConfig, sent: Array, times: int) -> Self:
        """Make the active party."""
        data = load_party(cfg, 0)
        made = cls(build_learner(cfg, data), labels_of(cfg), data.rows)
        made.sent, made.times, made.spent = sent, times, []
        return made

    def fault_of(self, phase: str, rows: int, arrays: Sequence[Array]) -> str:
        """Return nothing, since no method declares echoes."""
        return ""

    def protocol(self) -> Protocol:
        """Ask again and again."""
        for _ in range(self.times):
            started = time.perf_counter()
            yield ask("echo", self.sent)
            self.spent.append(time.perf_counter() - started)


def echo(cfg: RunConfig, rank: int) -> Echo:
    """Make the passive party of a rank."""
    return Echo(build_learner(cfg, load_party(cfg, rank)))
