"""Sessions over connections that fail end in the undisturbed result."""

import logging
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch

from deploy.ports import free_port
from tests.helpers.connections.chaos import Proxy
from tests.helpers.connections.sessions import CFG, Changed, K, assert_equal, taps
from tests.helpers.connections.streams import FakeGrid, grid_of, run_stream, run_streamed, visit
from tests.helpers.contract import Tap
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto import masking
from vfl_flower.crypto.fixed_point import Ring
from vfl_flower.parties.active import ActiveParty
from vfl_flower.privacy import secure_aggregation as blinding
from vfl_flower.transport.stream import client, session
from vfl_flower.workflows.build_parties import build_active

pytestmark = pytest.mark.usefixtures("soon")


@pytest.fixture
def proxied() -> Iterator[tuple[Proxy, RunConfig, str]]:
    """Return a proxy, a configuration that dials it, and its target."""
    port = free_port()
    proxy = Proxy(port)
    cfg = replace(CFG, stream_advertise=f"127.0.0.1:{proxy.port}")
    yield proxy, cfg, f"127.0.0.1:{port}"
    proxy.close()


def run_through(cfg: RunConfig, listen: str, clients: list[Tap]) -> tuple[ActiveParty, Any]:
    active = build_active(cfg)
    return active, run_stream(active, grid_of(clients), listen)


@pytest.mark.slow
def test_cut_connections_change_nothing(
    proxied: tuple[Proxy, RunConfig, str],
    undisturbed: dict[str, torch.Tensor],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every exchange is computed once, and no mask is used twice."""
    masks: list[tuple[bytes, int, str, bytes, int]] = []
    real = masking.mask

    def recorded(
        key: bytes, exchange: int, phase: str, digest: bytes, count: int, position: int, ring: Ring
    ) -> Any:
        masks.append((key, exchange, phase, digest, position))
        return real(key, exchange, phase, digest, count, position, ring)

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


@pytest.mark.slow
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


@pytest.mark.slow
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


class Clock:
    """Clock of both ends of all sessions, which tests set forward."""

    sleep = staticmethod(time.sleep)

    def __init__(self) -> None:
        self.ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead


@pytest.mark.slow
def test_a_cut_after_a_long_silence_is_mended(
    proxied: tuple[Proxy, RunConfig, str],
    undisturbed: dict[str, torch.Tensor],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The grace time counts from the loss of the connection."""
    clock = Clock()
    for end in (client, session):
        monkeypatch.setattr(end, "time", clock)
    proxy, cfg, listen = proxied
    clients = taps()

    def pause(n: int) -> None:
        if n == 9:
            clock.ahead += 90  # nobody hears anything meanwhile
            proxy.cut()

    clients[1].client = Changed(clients[1].client, before=pause)
    active, facts = run_through(replace(cfg, stream_grace=60.0), listen, clients)
    assert_equal(active, undisturbed)
    assert all(facts["reconnects"].values())


@pytest.mark.slow
def test_an_invitation_that_fails_is_sent_again(undisturbed: dict[str, torch.Tensor]) -> None:
    """Flower's server is briefly absent, or refuses a message."""
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


def test_an_address_of_every_interface_is_not_told_to_parties() -> None:
    with pytest.raises(ConfigError, match="every address of this machine"):
        run_through(CFG, "0.0.0.0:0", taps())


@pytest.mark.slow
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
