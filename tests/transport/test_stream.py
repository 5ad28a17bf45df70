"""Sessions that are disturbed end in the undisturbed result, or in the right error."""

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from flwr.client import Client
from flwr.common import FitIns, FitRes, GetPropertiesIns, GetPropertiesRes

from deploy.local import free_port
from tests.helpers.chaos import Proxy
from tests.helpers.contract import Tap
from tests.helpers.streams import FakeGrid, grid_of, node, run_stream, run_streamed, visit
from vfl_flower.common.codec import encode
from vfl_flower.common.errors import (
    ConfigError,
    PartyAway,
    PartyError,
    RosterError,
    TrainingError,
    VflError,
)
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto import masking
from vfl_flower.parties.active import ActiveParty
from vfl_flower.privacy import secure_aggregation as blinding
from vfl_flower.protocol.observer import Observer
from vfl_flower.transport.endpoint import Endpoint
from vfl_flower.transport.local import run_local
from vfl_flower.transport.stream import session_opener as opening
from vfl_flower.transport.stream.client import StreamClient
from vfl_flower.transport.stream.frames import Frame
from vfl_flower.workflows.build_parties import build_active, build_passive

CFG = RunConfig(models="mlp", epochs=3, batch_size=200, embedding_dim=16, stream_grace=5.0)
K = CFG.parties - 1


@pytest.fixture(scope="module")
def undisturbed() -> dict[str, torch.Tensor]:
    """Return the active party's weights after a local run."""
    active = build_active(CFG)
    run_local(active, [build_passive(CFG, k) for k in range(K)])
    return active.net.state_dict()


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nodes be looked at and invited again sooner than in earnest."""
    monkeypatch.setattr(opening, "POLL", 0.1)
    monkeypatch.setattr(opening, "AGAIN", 0.3)


def assert_equal(active: ActiveParty, expected: dict[str, torch.Tensor]) -> None:
    for name, value in active.net.state_dict().items():
        assert torch.equal(value, expected[name]), name


def taps() -> list[Tap]:
    return [Tap(Endpoint(build_passive(CFG, k))) for k in range(K)]


@dataclass
class Changed(Client):
    """Does something before or after each exchange of a party."""

    client: Client
    before: Callable[[int], None] = lambda n: None
    after: Callable[[int, FitRes], FitRes] = lambda n, res: res
    count: int = 0

    def get_properties(self, ins: GetPropertiesIns) -> GetPropertiesRes:
        return self.client.get_properties(ins)

    def fit(self, ins: FitIns) -> FitRes:
        self.count += 1
        self.before(self.count)
        return self.after(self.count, self.client.fit(ins))


# Connections that fail --------------------------------------------------------------------------


@pytest.fixture
def proxied() -> Iterator[tuple[Proxy, RunConfig, str]]:
    """Return a proxy, a configuration whose parties dial it, and where it leads."""
    port = free_port()
    proxy = Proxy(port)
    cfg = replace(CFG, stream_advertise=f"127.0.0.1:{proxy.port}")
    yield proxy, cfg, f"127.0.0.1:{port}"
    proxy.close()


def run_through(cfg: RunConfig, listen: str, clients: list[Tap]) -> tuple[ActiveParty, Any]:
    active = build_active(cfg)
    return active, run_stream(active, grid_of(clients), listen)


def test_cut_connections_change_nothing(
    proxied: tuple[Proxy, RunConfig, str],
    undisturbed: dict[str, torch.Tensor],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every exchange is computed once, and no mask is used twice."""
    masks: list[tuple[bytes, int, str, bytes]] = []
    real = masking.mask

    def recorded(key: bytes, exchange: int, phase: str, digest: bytes, count: int) -> Any:
        masks.append((key, exchange, phase, digest))
        return real(key, exchange, phase, digest, count)

    monkeypatch.setattr(blinding, "mask", recorded)
    proxy, cfg, listen = proxied
    clients = taps()
    cutting = iter(range(5, 60, 10))
    when = {next(cutting) for _ in range(5)}
    slow = Changed(clients[1].client, before=lambda n: proxy.cut() if n in when else None)
    clients[1].client = slow  # the connections go while this party computes
    active, facts = run_through(cfg, listen, clients)
    assert_equal(active, undisturbed)
    assert all(count >= 2 for count in facts["reconnects"].values())
    assert [len(tap.sent) for tap in clients] == [active.strategy.exchange] * K
    assert len(masks) == 2 * len(set(masks))  # each pair's two ends, and never again


@pytest.mark.parametrize("double", [False, True])
def test_truncated_and_doubled_bytes_change_nothing(
    double: bool, proxied: tuple[Proxy, RunConfig, str], undisturbed: dict[str, torch.Tensor]
) -> None:
    proxy, cfg, listen = proxied
    proxy.budget, proxy.double = 200_000, double
    clients = taps()
    active, facts = run_through(cfg, listen, clients)
    assert_equal(active, undisturbed)
    assert sum(facts["reconnects"].values()) >= 1
    assert [len(tap.sent) for tap in clients] == [active.strategy.exchange] * K


@pytest.mark.parametrize(("delay", "epochs"), [(0.01, 3), (0.2, 0)])
def test_a_slow_network_changes_nothing(
    delay: float,
    epochs: int,
    proxied: tuple[Proxy, RunConfig, str],
    undisturbed: dict[str, torch.Tensor],
) -> None:
    """Half a second there and back lets parties join all the same."""
    proxy, cfg, listen = proxied
    proxy.delay = delay
    active, facts = run_through(replace(cfg, epochs=epochs), listen, taps())
    assert set(facts["reconnects"].values()) == {0}
    if epochs == CFG.epochs:
        assert_equal(active, undisturbed)


def test_a_cut_after_a_long_silence_is_mended(
    proxied: tuple[Proxy, RunConfig, str], undisturbed: dict[str, torch.Tensor]
) -> None:
    """The grace time counts from the loss of the connection, not from the last message."""
    proxy, cfg, listen = proxied
    clients = taps()

    def pause(n: int) -> None:
        if n == 9:
            time.sleep(2.5)  # the other parties hear nothing meanwhile
            proxy.cut()

    clients[1].client = Changed(clients[1].client, before=pause)
    active, facts = run_through(replace(cfg, stream_grace=1.5), listen, clients)
    assert_equal(active, undisturbed)
    assert all(facts["reconnects"].values())


def test_an_invitation_that_fails_is_sent_again(undisturbed: dict[str, torch.Tensor]) -> None:
    """Whether Flower's server is away for a moment, or does not take a message."""
    troubles: list[Any] = [OSError("away"), [None], OSError("away")]

    class Unreliable(FakeGrid):
        def push_messages(self, messages: Any) -> list[Any]:
            if troubles:
                trouble = troubles.pop()
                if isinstance(trouble, Exception):
                    raise trouble
                return list(trouble)
            return super().push_messages(messages)

    grid = Unreliable({100 + k: partial(visit, tap) for k, tap in enumerate(taps())})
    active = build_active(CFG)
    run_stream(active, grid)
    assert_equal(active, undisturbed)
    assert troubles == []


def test_a_party_that_never_answers_is_away() -> None:
    clients: list[Client] = list(taps())
    clients[1] = Changed(clients[1], before=lambda n: time.sleep(3) if n == 9 else None)
    with pytest.raises(PartyAway, match=r"party-2 .* did not answer for more than 0\.5 s"):
        run_streamed(build_active(replace(CFG, answer_timeout=0.5)), clients)


def test_an_address_of_every_interface_is_not_told_to_parties() -> None:
    with pytest.raises(ConfigError, match="every address of this machine"):
        run_through(CFG, "0.0.0.0:0", taps())


def test_a_run_name_that_another_run_has_is_refused(tmp_path: Path) -> None:
    def attempt(epochs: int) -> None:
        cfg = replace(CFG, epochs=epochs, run_name="one", bounds="off")
        run_stream(
            build_active(cfg, tmp_path / f"active-{epochs}"),
            FakeGrid(nodes(tmp_path, cfg)),
            "127.0.0.1:0",
            cfg.to_mapping(),
        )

    attempt(1)
    before = {path: path.read_bytes() for path in tmp_path.rglob("node*/**/*.safetensors")}
    with pytest.raises(PartyError, match="holds another run's checkpoints"):
        attempt(2)
    assert before == {p: p.read_bytes() for p in tmp_path.rglob("node*/**/*.safetensors")}
    assert before


def test_a_party_that_cannot_reach_the_address_is_named(caplog: pytest.LogCaptureFixture) -> None:
    cfg = replace(
        CFG, stream_advertise=f"127.0.0.1:{free_port()}", stream_grace=0.5, party_timeout=3.0
    )
    with pytest.raises(RosterError, match="missing after 3 s: party-1, party-2, party-3"):
        run_through(cfg, "127.0.0.1:0", taps())
    assert "was not heard for more than 0.5 s" in caplog.text


# Parties that fail ------------------------------------------------------------------------------


def nodes(folder: Path, cfg: RunConfig) -> dict[int, Callable[[FitIns], FitRes]]:
    """Return real nodes, each built anew for each session, with state folders of their own."""
    options = cfg.to_mapping()
    return {
        100 + k: lambda ins, k=k: node(k, folder / f"node{k}", options).fit(ins)  # type: ignore[misc]
        for k in range(K)
    }


class Killed(BaseException):
    """What stands for a process's sudden end."""


def kill(
    monkeypatch: pytest.MonkeyPatch, moments: tuple[int, ...], then: Callable[[], None]
) -> list[int]:
    """Let node 101 die before it answers certain requests; return the moments that are left."""
    left, answered, compute = list(moments), 0, StreamClient._compute

    def die(self: StreamClient, frame: Frame) -> bytes:
        nonlocal answered
        if self.invitation.node == 101:
            answered += 1
            if left and answered >= left[0]:
                left.pop(0)
                then()
                raise Killed("killed")
        return compute(self, frame)

    monkeypatch.setattr(StreamClient, "_compute", die)
    return left


@pytest.mark.parametrize("moments", [(1,), (2,), (9,), (40,), (12, 30, 31)])
def test_a_killed_party_comes_back_and_the_weights_are_the_same(
    moments: tuple[int, ...],
    tmp_path: Path,
    undisturbed: dict[str, torch.Tensor],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cfg = replace(CFG, run_name="one", party_randomness="public", bounds="off")
    left = kill(monkeypatch, moments, lambda: None)
    active = build_active(cfg, tmp_path)
    grid = FakeGrid(nodes(tmp_path, cfg))
    facts = run_stream(active, grid, "127.0.0.1:0", cfg.to_mapping())
    assert left == []
    assert_equal(active, undisturbed)
    assert facts["returns_to_a_checkpoint"] == len(moments)


def test_a_party_that_stays_away_is_named_and_checkpoints_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cfg = replace(CFG, run_name="one", stream_grace=0.5, return_timeout=2.0, bounds="off")
    grid = FakeGrid(nodes(tmp_path, cfg))
    kill(monkeypatch, (30,), partial(grid.nodes.__delitem__, 101))
    with pytest.raises(RosterError, match="missing after 2 s: party-2"):
        run_stream(
            build_active(cfg, tmp_path),
            grid,
            "127.0.0.1:0",
            cfg.to_mapping(),
        )
    assert list((tmp_path / "active").glob("checkpoint-*"))
    assert list((tmp_path / "node1" / "one" / "party-2").glob("checkpoint-*"))


def test_a_party_that_dies_again_and_again_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cfg = replace(CFG, run_name="one", bounds="off")
    left = kill(monkeypatch, tuple(range(1, 100)), lambda: None)
    with pytest.raises(PartyAway, match="killed"):
        run_stream(
            build_active(cfg, tmp_path),
            FakeGrid(nodes(tmp_path, cfg)),
            "127.0.0.1:0",
            cfg.to_mapping(),
        )
    assert 90 < len(left) < 99


def sending(*tensors: bytes) -> Callable[[FitRes], FitRes]:
    return lambda res: replace(res, parameters=replace(res.parameters, tensors=list(tensors)))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (sending(b"x"), "party-2 garbled"),
        (sending(), "not all did"),
        (sending(encode(np.zeros((3, 4), np.uint32))), "do not fit together"),
        (sending(encode(np.zeros((200, 16), np.float32))), "do not fit together"),
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
    with pytest.raises(TrainingError, match="the loss of party-2 is not finite"):
        run_streamed(build_active(CFG), clients)


def test_an_answer_that_no_session_carries_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vfl_flower.transport.stream.frames.LARGEST", 20_000)
    with pytest.raises(PartyError, match=r"a message of .* MiB is more than"):
        run_streamed(build_active(CFG), taps())


def test_two_nodes_with_one_index_are_refused() -> None:
    clients = [Endpoint(build_passive(CFG, k)) for k in (0, 1, 1)]
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
    with pytest.raises(RosterError, match=r"party-[123]: models: unknown 'cnn7'"):
        run_stream(build_active(CFG), grid, "127.0.0.1:0", options)


def test_no_secret_is_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    grids: list[FakeGrid] = []
    real = FakeGrid.__post_init__

    def kept(self: FakeGrid) -> None:
        grids.append(self)
        real(self)

    monkeypatch.setattr(FakeGrid, "__post_init__", kept)
    run_streamed(build_active(CFG), taps())
    tokens = [ins.config["stream-token"] for grid in grids for ins in grid.opened]
    assert len(tokens) == K
    for token in tokens:
        assert isinstance(token, bytes)
        for written in (token.hex(), repr(token), str(list(token))):
            assert written not in caplog.text


def test_a_slow_party_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vfl_flower.transport.protocol_server.SLOW", 0.2)
    waited: list[list[str]] = []

    class Watch(Observer):
        def on_wait(self, names: list[str]) -> None:
            waited.append(names)

    clients: list[Client] = list(taps())
    clients[1] = Changed(clients[1], before=lambda n: time.sleep(0.6) if n == 9 else None)
    active = build_active(CFG)
    active.observer = Watch()
    run_streamed(active, clients)
    assert waited == [["party-2"]]
