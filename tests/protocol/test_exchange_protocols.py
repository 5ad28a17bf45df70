"""Exchanges of small protocols made for the purpose."""

import threading
from collections.abc import Callable

import numpy as np
import pytest
import torch

from tests.helpers.contract import CARRIERS
from tests.helpers.probes import Probe, Prober, conversation
from vfl_flower.common.errors import DataError, PartyError, VflError
from vfl_flower.protocol.exchange import Protocol, ask, ask_each, tell, tell_each

on_each_carrier = pytest.mark.parametrize("carrier", CARRIERS)


@on_each_carrier
def test_ask_each_sends_each_its_own(carrier: str) -> None:
    heard: list[list[float]] = []

    def script(self: Prober) -> Protocol:
        replies = yield ask_each("echo", [torch.tensor([10.0 * k]) for k in range(3)])
        heard.append([float(a[0]) for a in replies.singles])
        heard.append(replies.sum().tolist())

    conversation(carrier, script)
    assert heard == [[0.0, 11.0, 22.0], [33.0]]


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("each", [ask_each, tell_each])
def test_one_array_for_each_means_each(count: int, each: Callable[..., ask]) -> None:  # type: ignore[valid-type]
    """Another number of arrays than parties is an error."""
    got: list[object] = []

    def script(self: Prober) -> Protocol:
        yield each("note", [np.array(1.0, np.float32)] * count)
        replies = yield ask("noted")
        got.extend(replies.arrays)

    with pytest.raises(VflError):
        conversation("local", script)
    assert got == []


@on_each_carrier
def test_tells_ride_in_order_on_the_next_exchange(carrier: str) -> None:
    notes: list[list[float]] = []

    def script(self: Prober) -> Protocol:
        yield tell("note", np.array(1, np.float32))
        yield tell_each("note", [np.array(2 + k, np.float32) for k in range(3)])
        replies = yield ask("noted")
        notes.extend(a.tolist() for a in replies.singles)

    active, taps = conversation(carrier, script)
    assert notes == [[1.0, 2.0], [1.0, 3.0], [1.0, 4.0]]
    assert [ins.config["phases"] for ins, _ in taps[0].sent] == ["note,note,noted"]
    assert active.strategy.exchange == 1


@on_each_carrier
def test_last_tell_is_delivered(carrier: str) -> None:
    """A tell pending at the end gets an exchange of its own."""

    def script(self: Prober) -> Protocol:
        yield ask("noted")
        yield tell("note", np.array(7, np.float32))

    active, taps = conversation(carrier, script)
    for tap in taps:
        assert [phase for phase, _ in tap.requests()] == ["noted", "note"]
        assert tap.requests()[-1][1][0] == 7
    assert active.strategy.exchange == 2
    assert active.ledger.exchanges["training"] == 2


@on_each_carrier
def test_failing_last_tell_is_an_error(carrier: str) -> None:
    """Also after the protocol's own end no failure is swallowed."""

    def script(self: Prober) -> Protocol:
        yield ask("noted")
        yield tell("fail", np.array(7, np.float32))

    with pytest.raises(PartyError, match=r"party-2 .*cannot take that note"):
        conversation(carrier, script)


def test_protocol_may_catch_a_failure() -> None:
    """The error is raised at the yield, and can be caught."""
    caught: list[str] = []

    def script(self: Prober) -> Protocol:
        try:
            yield ask("fail", np.array(1, np.float32))
        except PartyError as error:
            caught.append(str(error))
        replies = yield ask("echo", np.array([1], np.float32))
        caught.append(str(len(replies.arrays)))

    conversation("local", script)
    assert "party-2" in caught[0]
    assert caught[1:] == ["3"]


def test_own_work_runs_while_the_exchange_is_open() -> None:
    """All parties wait for each other: possible only side by side."""
    Probe.barrier = threading.Barrier(4)
    got: list[object] = []

    def script(self: Prober) -> Protocol:
        replies = yield ask("meet", own=lambda: Probe.barrier.wait(10) is not None)
        got.append(replies.own)

    conversation("local", script)
    assert got == [True]


@pytest.mark.parametrize(("purpose", "training"), [("training", True), ("evaluation", False)])
def test_own_work_is_in_the_mode_of_its_purpose(purpose: str, training: bool) -> None:
    seen: list[object] = []

    def script(self: Prober) -> Protocol:
        replies = yield ask(
            "noted",
            own=lambda: (torch.is_grad_enabled(), self.net.training),
            purpose=purpose,  # type: ignore[arg-type]
        )
        seen.append(replies.own)

    conversation("local", script)
    assert seen == [(training, training)]


def test_own_failure_surfaces_at_the_yield() -> None:
    def broken() -> None:
        raise DataError("my own mistake")

    def script(self: Prober) -> Protocol:
        with pytest.raises(DataError, match="my own mistake"):
            yield ask("noted", own=broken)
        replies = yield ask("echo", np.array([1], np.float32))
        assert len(replies.arrays) == 3

    active, _ = conversation("local", script)
    assert active.strategy.exchange == 2
