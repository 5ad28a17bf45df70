"""Passive parties that lie in their replies to one phase."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from flwr.client import Client
from flwr.common import FitIns, FitRes, GetPropertiesIns, GetPropertiesRes, ndarrays_to_parameters

from vfl_flower.common.codec import Array, from_parameters
from vfl_flower.config.run_config import RunConfig
from vfl_flower.parties.active import ActiveParty
from vfl_flower.transport.endpoint import Endpoint
from vfl_flower.transport.local import serve
from vfl_flower.workflows.build_parties import build_active, build_passive

Lie = Callable[[list[Array]], Sequence[Array]]


@dataclass
class Liar(Client):
    """An honest party whose replies to one phase are changed."""

    client: Client
    phase: str
    lie: Lie
    told: list[str] = field(default_factory=list)

    def get_properties(self, ins: GetPropertiesIns) -> GetPropertiesRes:
        return self.client.get_properties(ins)

    def fit(self, ins: FitIns) -> FitRes:
        res = self.client.fit(ins)
        if str(ins.config["phases"]).split(",")[-1] == self.phase and "error" not in res.metrics:
            self.told.append(self.phase)
            res.parameters = ndarrays_to_parameters([*self.lie(from_parameters(res.parameters))])
        return res


def run_with_liar(
    cfg: RunConfig, phase: str, lie: Lie, rank: int = 2, folder: Path | None = None
) -> ActiveParty:
    """Train with one lying passive party; return the active party."""
    active, ranks = build_active(cfg), range(1, cfg.parties)
    clients: list[Client] = [Endpoint(build_passive(cfg, k, folder)) for k in ranks]
    liar = Liar(clients[rank - 1], phase, lie)
    clients[rank - 1] = liar
    serve(active, clients)
    assert liar.told, f"nobody asked '{phase}'"
    return active


def random_words(arrays: list[Array]) -> list[Array]:
    """Replace arrays by random bits of their own dtypes and shapes."""
    rng = np.random.default_rng(0)
    return [np.frombuffer(rng.bytes(a.nbytes), a.dtype).reshape(a.shape) for a in arrays]
