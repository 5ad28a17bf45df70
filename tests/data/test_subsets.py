"""Exchanges with a stated subset of the roster."""

import numpy as np
import pytest
import torch

from tests.helpers.contract import CARRIERS
from tests.helpers.probes import Prober, conversation
from vfl_flower.common.errors import ProtocolError
from vfl_flower.protocol.exchange import Protocol, Replies, ask, ask_each, tell, tell_each
from vfl_flower.protocol.runner import ProtocolRunner


@pytest.mark.parametrize("carrier", CARRIERS)
def test_only_those_asked_hear_and_answer(carrier: str) -> None:
    heard: list[list[float]] = []

    def script(self: Prober) -> Protocol:
        replies = yield ask_each("echo", [torch.tensor([5.0]), torch.tensor([7.0])], to=(1, 3))
        heard.append([float(a[0]) for a in replies.singles])

    _, taps = conversation(carrier, script)
    assert heard == [[5.0, 9.0]]  # party k adds k - 1
    assert [len(tap.sent) for tap in taps] == [1, 0, 1]


@pytest.mark.parametrize("carrier", CARRIERS)
def test_a_tell_waits_for_the_next_exchange_with_its_party(carrier: str) -> None:
    notes: list[list[float]] = []

    def script(self: Prober) -> Protocol:
        yield tell_each("note", [np.array(1 + k, np.float32) for k in range(3)])
        yield ask("noted", to=[2])
        yield tell("note", np.array(9, np.float32), to=[1])
        replies = yield ask("noted")
        notes.extend(a.tolist() for (a,) in replies.arrays)

    conversation(carrier, script)
    assert notes == [[1.0, 9.0], [2.0], [3.0]]


def test_own_work_of_a_tell_is_done_once() -> None:
    done: list[str] = []

    def script() -> Protocol:
        yield tell("note", own=lambda: done.append("told"))
        yield ask("a", to=[1])
        yield ask("b", to=[2])

    driver = ProtocolRunner(script(), 2)
    outcome = None
    while (asked := driver.advance(outcome)) is not None:
        for request in driver.due(asked)[1]:
            if request.own:
                request.own()
        outcome = Replies([])
    assert done == ["told"]


def test_what_was_told_to_one_party_is_delivered_at_the_end() -> None:
    def script() -> Protocol:
        yield tell("note", to=[2])

    driver = ProtocolRunner(script(), 3)
    last = driver.advance(None)
    assert last is not None
    messages, _ = driver.due(last)
    assert {k: [r.phase for r in requests] for k, requests in messages.items()} == {2: ["note"]}
    assert driver.advance(Replies([])) is None


@pytest.mark.parametrize("to", [[], [0], [4], [-1], [1, 1]])
def test_strangers_cannot_be_asked(to: list[int]) -> None:
    def script() -> Protocol:
        yield ask("note", to=to)

    with pytest.raises(ProtocolError, match="'note' is for"):
        ProtocolRunner(script(), 3).advance(None)


def test_masks_of_a_subset_are_not_added() -> None:
    words = np.zeros(2, np.uint32)
    assert Replies([[words], [words]]).sum().tolist() == [0, 0]
    with pytest.raises(ProtocolError, match="whole roster"):
        Replies([[words]], whole=False).sum()
