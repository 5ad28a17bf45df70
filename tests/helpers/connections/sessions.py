"""Parties in sessions that tests disturb, kill and bring back."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from flwr.client import Client
from flwr.common import FitIns, FitRes, GetPropertiesIns, GetPropertiesRes

from tests.helpers.connections.streams import node
from tests.helpers.contract import Tap
from vfl_flower.config.run_config import RunConfig
from vfl_flower.parties.active import ActiveParty
from vfl_flower.transport.endpoint import Endpoint
from vfl_flower.transport.stream.client import StreamClient
from vfl_flower.transport.stream.frames import Frame
from vfl_flower.workflows.build_parties import build_passive

CFG = RunConfig(models="mlp", epochs=3, batch_size=200, embedding_dim=16, stream_grace=5.0)
K = CFG.parties - 1


def assert_equal(active: ActiveParty, expected: dict[str, torch.Tensor]) -> None:
    for name, value in active.net.state_dict().items():
        assert torch.equal(value, expected[name]), name


def taps() -> list[Tap]:
    return [Tap(Endpoint(build_passive(CFG, k))) for k in range(1, K + 1)]


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


def nodes(folder: Path, cfg: RunConfig) -> dict[int, Callable[[FitIns], FitRes]]:
    """Return real nodes, each built anew for each session.

    They have state folders of their own.
    """
    options = cfg.to_mapping()
    return {
        100 + k: lambda ins, k=k: node(k, folder / f"node{k}", options).fit(ins)  # type: ignore[misc]
        for k in range(K)
    }


class Killed(BaseException):
    """Stands for the sudden end of a process."""


def kill(
    monkeypatch: pytest.MonkeyPatch, moments: tuple[int, ...], then: Callable[[], None]
) -> list[int]:
    """Kill node 101 before it answers certain requests; return remaining moments."""
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
