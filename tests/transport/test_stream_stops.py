"""Stopped runs that wait for parties end at once."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
from flwr.client import Client
from flwr.common import FitIns, FitRes
from flwr.supercore.run import RunNotRunningException

from tests.helpers.connections.sessions import CFG, Changed, kill, nodes, taps
from tests.helpers.connections.streams import Answer, FakeGrid, grid_of, run_stream
from vfl_flower.common.errors import Interrupted, PartyAway, RosterError
from vfl_flower.parties.active import ActiveParty
from vfl_flower.transport.endpoint import OK
from vfl_flower.transport.stream import absences
from vfl_flower.transport.stream.frames import Kind
from vfl_flower.transport.stream.session import Session
from vfl_flower.workflows.build_parties import build_active

pytestmark = pytest.mark.usefixtures("soon")

SOON = 30.0  # seconds; each of the waits that end would last a minute and more


@dataclass
class StoppedGrid(FakeGrid):
    """A grid whose run Flower's user stops at some moment."""

    stopped: bool = False

    def get_node_ids(self) -> list[int]:
        if self.stopped:
            raise RunNotRunningException
        return super().get_node_ids()


def never(ins: FitIns) -> FitRes:
    """Take an invitation as a SuperNode without a SuperExec does."""
    threading.Event().wait(60)
    return FitRes(OK, None, 0, {})  # type: ignore[arg-type]


def answered(answer: Answer, left: threading.Event, ins: FitIns) -> FitRes:
    """Note that a node has left its session."""
    res = answer(ins)
    left.set()
    return res


def interrupted(run: Callable[[], object]) -> str:
    """Return the error text of a run that is stopped soon."""
    started = time.monotonic()
    with pytest.raises(Interrupted) as caught:
        run()
    assert time.monotonic() - started < SOON
    return str(caught.value)


@pytest.mark.slow
def test_a_run_that_waits_for_parties_ends() -> None:
    clients = taps()
    left = [threading.Event() for _ in clients]
    grid = StoppedGrid(dict(grid_of(clients).nodes))
    for k, (name, answer) in enumerate([*grid.nodes.items()]):
        grid.nodes[name] = partial(answered, answer, left[k])
    grid.nodes[101] = never
    active = build_active(CFG)
    threading.Timer(1.0, setattr, (grid, "stopped", True)).start()
    assert "stopped while waiting for the parties" in interrupted(lambda: run_stream(active, grid))
    assert left[0].wait(SOON)  # those that had come are told
    assert left[2].wait(SOON)


@pytest.mark.slow
def test_a_run_that_waits_for_a_party_to_return_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cfg = replace(CFG, run_name="one", baselines="off")
    grid = StoppedGrid(nodes(tmp_path, cfg))

    def gone() -> None:
        grid.nodes[101] = never
        threading.Timer(1.0, setattr, (grid, "stopped", True)).start()

    kill(monkeypatch, (30,), gone)
    active = build_active(cfg, tmp_path)
    told = interrupted(lambda: run_stream(active, grid, options=cfg.to_mapping()))
    assert "stopped while waiting for the parties" in told
    assert list((tmp_path / "active").glob("checkpoint-*"))


def stopping(active: ActiveParty, number: int, seconds: float) -> Callable[[int], None]:
    """Stop the run in an exchange, and answer that one late."""

    def before(n: int) -> None:
        if n == number:
            active.request_stop()
            time.sleep(seconds)

    return before


def test_a_lost_connection_is_not_waited_for_once_the_run_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("vfl_flower.transport.stream.session.LEAVE", 0.1)
    session = Session(1, b"token", 600.0, 600.0, *(lambda each: None,) * 2, lambda: True)
    started = time.monotonic()
    with pytest.raises(PartyAway, match="the run was stopped"):
        session.call(Kind.EXCHANGE, {}, [])
    assert time.monotonic() - started < SOON


@pytest.mark.slow
def test_a_party_that_answers_within_the_grace_time_ends_the_step_in_hand() -> None:
    active = build_active(CFG)
    clients: list[Client] = list(taps())
    clients[1] = Changed(clients[1], before=stopping(active, 9, 0.5))
    assert "stopped after step" in interrupted(lambda: run_stream(active, grid_of(clients)))


@pytest.mark.slow
def test_a_party_that_does_not_answer_is_waited_for_the_grace_time_only() -> None:
    active = build_active(replace(CFG, stream_grace=1.0))
    clients: list[Client] = list(taps())
    clients[1] = Changed(clients[1], before=stopping(active, 9, 60.0))
    assert "party-2" in interrupted(lambda: run_stream(active, grid_of(clients)))


@pytest.mark.slow
def test_a_clientapp_that_does_not_come_is_told_by_its_partys_name(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(absences, "NOTICE", 1.0)
    grid = grid_of(taps())
    grid.nodes[101] = never
    with pytest.raises(RosterError, match=r"missing after 3 s: party-2; .*its SuperNode"):
        run_stream(build_active(replace(CFG, party_timeout=3.0)), grid)
    told = [r.message for r in caplog.records if "no ClientApp of party-2 (" in r.message]
    assert len(told) == 1
    assert "(node 101)" in told[0]
    assert "SuperExec" in told[0]
    assert "the run waits" in told[0]


def test_a_party_that_comes_in_time_is_not_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(absences, "NOTICE", 5.0)
    with caplog.at_level(logging.WARNING):
        run_stream(build_active(replace(CFG, epochs=1)), grid_of(taps()))
    assert "no ClientApp" not in caplog.text
