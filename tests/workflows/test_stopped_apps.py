"""A ServerApp whose run is stopped ends soon, whatever it does."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from flwr.app import Context, RecordDict

from tests.helpers.connections.streams import RUN, FakeGrid
from tests.helpers.own_data.own import make
from vfl_flower import server_app
from vfl_flower.common.errors import Interrupted, PartyError
from vfl_flower.config.run_config import RunConfig

SOON = 30.0  # seconds; a run would wait 180 s for its parties
COUNTED = 3  # looks at the nodes before the stop


def stop() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@dataclass
class TurnedAway(FakeGrid):
    """A grid whose requests the SuperLink turns away after some.

    Flower sends its process SIGINT at the first of them.
    """

    looks: int = 0

    def get_node_ids(self) -> list[int]:
        self.looks += 1
        if self.looks == COUNTED:
            stop()
        if self.looks >= COUNTED:
            raise RuntimeError("401 Unauthorized")
        return []


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return a function: run the app until its interruption, return the error."""
    monkeypatch.setenv("VFL_FLOWER_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("vfl_flower.transport.stream.session_opener.POLL", 0.1)

    def ran(**options: Any) -> str:
        given = {"stream-listen": "127.0.0.1:0", "models": "mlp", "run-name": "one", **options}
        context = Context(RUN, 1, {}, RecordDict(), {**RunConfig().to_mapping(), **given})
        before, started = signal.getsignal(signal.SIGINT), time.monotonic()
        with pytest.raises(Interrupted) as caught:
            server_app.main(TurnedAway({}, overrides=given), context)  # type: ignore[arg-type]
        assert time.monotonic() - started < SOON
        assert signal.getsignal(signal.SIGINT) is before
        assert not (tmp_path / "home" / "one").exists()
        return str(caught.value)

    return ran


def test_one_that_waits_for_parties(run: Callable[..., str]) -> None:
    assert "stopped while waiting for the parties" in run()


def test_one_that_waits_for_parties_to_align(run: Callable[..., str], tmp_path: Path) -> None:
    tables = make(tmp_path / "tables")
    assert run(dataset="own", tables=tables.split(",")[0]).startswith("stopped")


def test_one_that_loads_its_data(run: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_app, "run_data", lambda *given: stop())
    assert run().startswith("stopped")


def test_one_that_waits_for_an_answer_by_message(
    run: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def turned_away(**given: Any) -> None:
        stop()
        raise PartyError("party-1 did not answer: 401 Unauthorized")

    monkeypatch.setattr("vfl_flower.transport.messages.start_grid", turned_away)
    assert run(transport="messages").startswith("stopped without the step in hand: party-1")
