"""Parties that answer badly, late or never are named."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from flwr.client import Client
from flwr.common import FitRes

from deploy.ports import free_port
from tests.helpers.connections.sessions import CFG, Changed, K, taps
from tests.helpers.connections.streams import FakeGrid, node, run_stream, run_streamed
from vfl_flower.common.codec import encode
from vfl_flower.common.errors import PartyAway, PartyError, RosterError, VflError
from vfl_flower.protocol.observer import Observer
from vfl_flower.transport.endpoint import Endpoint
from vfl_flower.transport.stream.frames import Kind
from vfl_flower.transport.stream.session import Session
from vfl_flower.workflows.build_parties import build_active, build_passive

pytestmark = pytest.mark.usefixtures("soon")


@pytest.mark.slow
def test_a_party_that_never_answers_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other requests are patient, since a busy machine is slow."""
    over, send = Event(), Session.send

    def impatient(self: Session, kind: Kind, record: Mapping[str, Any], *rest: Any) -> None:
        if self.node == 101 and record.get("exchange") == 9:
            self.patience = 0.5
        send(self, kind, record, *rest)

    def never(n: int) -> None:
        if n == 9:
            over.wait(60)

    monkeypatch.setattr(Session, "send", impatient)
    clients: list[Client] = list(taps())
    clients[1] = Changed(clients[1], before=never)
    with pytest.raises(PartyAway, match=r"party-2 .* did not answer for more than 0\.5 s"):
        run_streamed(build_active(CFG), clients)
    over.set()


@pytest.mark.slow
def test_a_party_that_cannot_reach_the_address_is_named(caplog: pytest.LogCaptureFixture) -> None:
    cfg = replace(
        CFG, stream_advertise=f"127.0.0.1:{free_port()}", stream_grace=0.5, party_timeout=3.0
    )
    with pytest.raises(RosterError, match="missing after 3 s: party-1, party-2, party-3"):
        run_streamed(build_active(cfg), taps())
    assert "was not heard for more than 0.5 s" in caplog.text


def sending(*tensors: bytes) -> Callable[[FitRes], FitRes]:
    return lambda res: replace(res, parameters=replace(res.parameters, tensors=list(tensors)))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (sending(b"x"), "party-2 garbled"),
        (sending(), "party-2 answered .* with 0 arrays"),
        (sending(encode(np.zeros((3, 4), np.uint32))), "party-2 answered"),
        (sending(encode(np.zeros((200, 16), np.float32))), "party-2 answered"),
        (sending(encode(np.zeros((200, 16), np.float32)), b"more"), "party-2 garbled"),
        (lambda res: replace(res, metrics={"error": "Odd", "message": "no"}), "party-2 .* Odd: no"),
        (lambda res: replace(res, metrics={"error": "a\x1b[2Jb\nc"}), r"party-2 .* a \[2Jb c: $"),
    ],
)
def test_a_party_that_answers_badly_is_told(change: Callable[[FitRes], FitRes], says: str) -> None:
    clients: list[Client] = list(taps())
    clients[1] = Changed(clients[1], after=lambda n, res: change(res) if n == 9 else res)
    with pytest.raises(VflError, match=says):
        run_streamed(build_active(CFG), clients)


def test_predictions_that_are_not_numbers_end_the_run() -> None:
    def change(n: int, res: FitRes) -> FitRes:
        if n != 10:  # the prediction after the embedding of the exchange before
            return res
        return sending(encode(np.full((200, 10), np.nan, np.float32)))(res)

    clients: list[Client] = list(taps())
    clients[1] = Changed(clients[1], after=change)
    with pytest.raises(PartyError, match=r"party-2 answered 'predict' .* not finite"):
        run_streamed(build_active(CFG), clients)


@pytest.mark.slow
def test_an_answer_that_no_session_carries_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vfl_flower.transport.stream.frames.LARGEST", 20_000)
    with pytest.raises(PartyError, match=r"a message of .* MiB is more than"):
        run_streamed(build_active(CFG), taps())


def test_two_nodes_with_one_index_are_refused() -> None:
    clients = [Endpoint(build_passive(CFG, k)) for k in (1, 2, 2)]
    with pytest.raises(RosterError, match="two parties say that they are party-2"):
        run_streamed(build_active(CFG), clients)


def test_a_party_that_cannot_be_built_says_why(tmp_path: Path) -> None:
    options = CFG.to_mapping()
    grid = FakeGrid(
        {
            100 + k: node(k, tmp_path, options, **({"model": "cnn7"} if k else {})).fit
            for k in range(K)
        }
    )
    with pytest.raises(RosterError, match=r"party-[123]: unknown model 'cnn7'"):
        run_stream(build_active(CFG), grid, "127.0.0.1:0", options)


@pytest.mark.slow
def test_a_slow_party_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine others may be slow as well."""
    monkeypatch.setattr("vfl_flower.transport.protocol_server.SLOW", 0.2)
    waited: list[list[str]] = []

    class Watch(Observer):
        def on_wait(self, names: list[str]) -> None:
            waited.append(names)

    def pause(n: int) -> None:
        if n >= 9 and ["party-2"] not in waited:
            time.sleep(0.6)

    clients: list[Client] = list(taps())
    clients[1] = Changed(clients[1], before=pause)
    active = build_active(CFG)
    active.observer = Watch()
    run_streamed(active, clients)
    assert ["party-2"] in waited
