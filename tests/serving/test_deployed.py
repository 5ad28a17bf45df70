"""Services between nodes: sessions renewed, parties that die, new models, policies."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from deploy.ports import free_port
from tests.helpers.connections.services import PATIENCE, Caller, token_in
from tests.helpers.connections.sessions import kill
from tests.helpers.own_data.nodes import SETTINGS, World
from vfl_flower.common.errors import VflError
from vfl_flower.common.names import party_name
from vfl_flower.config.policy.record import OPEN
from vfl_flower.config.schema import kebab
from vfl_flower.serving import term
from vfl_flower.transport.stream.client import StreamClient
from vfl_flower.transport.stream.frames import Frame

pytestmark = pytest.mark.slow

MASKED = SETTINGS | {"method": "easter"}
COMPUTE = StreamClient._compute


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return parties with two models, whose folders nobody may change."""
    made = World(tmp_path_factory.mktemp("world"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VFL_FLOWER_HOME", str(made.state(0)))
        made.run(task="align", run_name="rows", tables=made.tables[0], parties=3)
        for name in ("first", "second"):
            made.run(run_name=name, alignment="rows", tables=made.tables[0], **MASKED)
    return made


@pytest.fixture
def world(trained: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    for rank in range(3):
        shutil.copytree(trained.state(rank), tmp_path / party_name(rank))
    made = World(tmp_path)
    made.tables = trained.tables
    monkeypatch.setenv("VFL_FLOWER_HOME", str(made.state(0)))
    return made


class Deployed:
    """A service in a thread, with the file that its owner writes."""

    def __init__(self, world: World, **settings: object) -> None:
        self.world, self.file = world, world.root / "service.toml"
        self.token = token_in(world.root)
        self.port = free_port()
        self.settings = {
            "listen": f"127.0.0.1:{self.port}",
            "token": str(self.token),
        } | settings
        self.write()
        self.error: VflError | None = None
        self.thread = Thread(target=self._run, daemon=True)

    def write(self, **changes: object) -> None:
        self.settings |= changes
        lines = (f"{kebab(key)} = {value!r}\n" for key, value in self.settings.items())
        new = self.file.with_name("new.toml")
        new.write_text("".join(lines))
        new.chmod(0o600)
        new.replace(self.file)

    def _run(self) -> None:
        try:
            self.world.run(
                task="serve",
                model="first",
                run_name="service",
                tables=self.world.new[0],
                service=str(self.file),
                stream_grace=3.0,
                stream_listen=f"127.0.0.1:{free_port()}",  # the same for all sessions
                party_timeout=30.0,
            )
        except VflError as error:
            self.error = error


@contextmanager
def deployed(
    world: World, ready: bool = True, **settings: object
) -> Iterator[tuple[Deployed, Caller]]:
    """Serve the first model until the run is stopped."""
    made = Deployed(world, **settings)
    made.thread.start()
    caller = Caller(f"http://127.0.0.1:{made.port}", made.token)
    until = time.monotonic() + PATIENCE
    try:
        while True:
            try:
                caller.http.get("/health")
                break
            except Exception:
                assert made.thread.is_alive(), made.error
                assert time.monotonic() < until
                time.sleep(0.1)
        if ready:
            caller.wait()
        yield made, caller
    finally:
        world.grid.stopped = True
        made.thread.join(PATIENCE)
        assert not made.thread.is_alive()


def common(caller: Caller) -> list[str]:
    """Return ids that all parties have."""
    every = [f"id-{row:03d}" for row in range(240)]
    return [each["id"] for each in caller.predictions(every) if each["status"] == "predicted"]


def test_sessions_are_renewed_before_their_messages_expire(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """No request is dropped, and no message expires."""
    with deployed(world, session_life=4.0) as (_, caller):
        world.grid.expires = True
        ids = common(caller)
        until, first = time.monotonic() + PATIENCE, len(world.grid.opened)
        while len(world.grid.opened) < first + 4:
            assert time.monotonic() < until
            assert caller.ask(ids[:2]).status_code == 200
    assert "expired" not in caplog.text


def test_a_party_that_is_killed_comes_back(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with deployed(world) as (_, caller):
        before = caller.predictions((ids := common(caller))[:3])
        with monkeypatch.context() as patch:
            kill(patch, (1,), lambda: None)
            status, line = caller.refusal(ids[:3])
        assert status == 503
        assert "party-2 is away" in line
        caller.wait()
        assert caller.predictions(ids[:3]) == before


def test_a_new_model_is_taken_up_between_nodes(world: World) -> None:
    """Requests wait for it; one that is missing is not taken up."""
    with deployed(world) as (service, caller):
        ids, first = common(caller), caller.wait()
        service.write(model="second")
        until = time.monotonic() + PATIENCE
        while (response := caller.ask(ids[:2])).json().get("model") == first:
            assert response.status_code == 200
            assert time.monotonic() < until
        assert response.status_code == 200
        second = response.json()["model"]
        service.write(model="third")
        time.sleep(2)
        assert caller.ask(ids[:2]).json()["model"] == second


def test_a_policy_limits_the_predictions_of_a_day(world: World) -> None:
    """Upload by upload, of which easter has two of each row."""
    world.policy = replace(OPEN, name="shop", most_predictions_a_day=3)
    with deployed(world) as (_, caller):
        scored = common(caller)[:1]
        told = "policy 'shop' refuses this upload by its rule most-predictions-a-day: it is 3"
        for _ in range(2):
            assert caller.refusal(scored) == (429, f"party-1: {told}")
        assert caller.wait()


@pytest.mark.parametrize("policy", [{"most_predictions_a_day": 0}, {"run_names": ("first",)}])
def test_a_policy_refuses_the_service(policy: dict[str, Any], world: World) -> None:
    world.policy = replace(OPEN, name="shop", **policy)
    made = Deployed(world)
    made.thread.start()
    made.thread.join(PATIENCE)
    rule = next(iter(policy)).replace("_", "-")
    assert f"policy 'shop' refuses this run by its rule {rule}: " in str(made.error)


def test_sessions_that_open_slowly_answer_all_the_same(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here each is old when all parties are there."""
    with deployed(world, session_life=5.0) as (_, caller):
        ids = common(caller)
        monkeypatch.setattr(term, "RENEWED", 0.0)
        first = len(world.grid.opened)
        while len(world.grid.opened) < first + 6:
            assert caller.ask(ids[:2]).status_code == 200


def test_a_party_that_hangs_counts_as_away(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with deployed(world, timeout=1.0) as (_, caller):
        before, hangs = caller.predictions(ids := common(caller)), Event()

        def hang(self: StreamClient, frame: Frame) -> bytes:
            hangs.wait(PATIENCE if self.invitation.node == 101 else 0)
            return COMPUTE(self, frame)

        with monkeypatch.context() as patch:
            patch.setattr(StreamClient, "_compute", hang)
            assert caller.refusal(ids)[0] in (503, 504)
            until = time.monotonic() + PATIENCE
            while caller.http.get("/ready").status_code == 200:
                assert time.monotonic() < until
            hangs.set()
        caller.wait()
        assert caller.predictions(ids) == before


def test_a_party_with_another_model_is_told_of(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    own = world.state(2)
    shutil.rmtree(own / "first")
    shutil.copytree(own / "second", own / "first")
    with deployed(world, ready=False) as (_, caller):
        until = time.monotonic() + PATIENCE
        while "fit together" not in caller.refusal(["id-001"])[1]:
            assert time.monotonic() < until
            time.sleep(0.1)
        assert caller.refusal(["id-001"])[0] == 503
    assert "party-2 has model = " in caplog.text
