"""Parties whose protocol is a script of the test."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor

from tests.helpers.contract import Tap, carry, configured, passive_parties
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import DataError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.loading import load_party
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.protocol.automaton.arrays import floats
from vfl_flower.protocol.components import phase
from vfl_flower.protocol.exchange import Protocol
from vfl_flower.workflows.build_learner import build_learner

CFG = replace(configured("easter"), threads=1)


class Prober(ActiveParty):
    """Runs whatever generator it is given."""

    script: ClassVar[Callable[["Prober"], Protocol]]

    def protocol(self) -> Protocol:
        return self.script()

    def fault_of(self, phase: str, rows: int, arrays: Sequence[Array]) -> str:
        return ""  # its passive parties are not those of a method


Script = Callable[[Prober], Protocol]


class Probe(PassiveParty):
    """Echoes, takes notes, waits for company."""

    barrier: threading.Barrier

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.notes: list[float] = []

    remembers = (*PassiveParty.remembers, "notes")

    @phase(training=False, takes=floats("n"), gives=floats("n"), sends="control")
    def echo(self, value: Tensor) -> Tensor:
        return value + self.rank - 1

    @phase(takes=floats())
    def note(self, value: Tensor) -> None:
        self.notes.append(float(value))

    @phase(training=False, gives=floats("n"), sends="control")
    def noted(self) -> Tensor:
        return torch.tensor(self.notes)

    @phase(training=False, takes=floats())
    def fail(self, value: Tensor) -> None:
        if self.rank == 2:
            raise DataError("cannot take that note")

    @phase(training=False)
    def meet(self) -> None:
        self.barrier.wait(10)


def build(k: int, cfg: RunConfig = CFG) -> PassiveParty:
    return Probe(build_learner(cfg, load_party(cfg, k)))


def prober(script: Script, cfg: RunConfig = CFG) -> Prober:
    kind = type("Scripted", (Prober,), {"script": script})
    data = load_party(cfg, 0)
    active: Prober = kind(build_learner(cfg, data), data.y, data.rows)
    return active


def conversation(carrier: str, script: Script) -> tuple[Prober, list[Tap]]:
    """Run a script over a transport; return active party and taps."""
    active, taps = prober(script), [Tap(c) for c in passive_parties(carrier, build).clients]
    carry(carrier, active, taps)
    return active, taps
