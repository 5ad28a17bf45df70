"""Helpers of masking tests: live parties, and requests in wire format."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import torch
from flwr.app import RecordDict
from flwr.common import FitIns, Scalar
from torch import Tensor

from clients.easter import EasterClient
from vfl_flower.common.codec import Array, from_parameters, to_parameters
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.fixed_point import Words
from vfl_flower.data.splitting.rows import rows_of
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.privacy.secure_aggregation import Masker
from vfl_flower.protocol.client import ProtocolClient
from vfl_flower.protocol.components import Received
from vfl_flower.transport.endpoint import RebuiltEndpoint
from vfl_flower.workflows.build_parties import build_passive

TINY = RunConfig(
    models="mlp", embedding_dim=8, epochs=1, batch_size=1294, baselines="off"
)  # one step
SALT = np.arange(16, dtype=np.uint8)
SPLIT = rows_of(TINY, 1797)
ROWS_I, ROWS_J = SPLIT["test"][:8], SPLIT["test"][8:16]


def passive(count: int, **options: Scalar) -> list[PassiveParty]:
    """Build live parties that have not been asked anything yet."""
    cfg = RunConfig.from_mapping({**TINY.to_mapping(), "parties": count + 1, **options})
    return [build_passive(cfg, rank) for rank in range(1, count + 1)]


class Rebuilt:
    """A passive party that is rebuilt for every request."""

    def __init__(self, cfg: RunConfig, rank: int) -> None:
        self.state = RecordDict()
        self.endpoint = RebuiltEndpoint(lambda: build_passive(cfg, rank), rank, self.state)

    def fit(
        self, parameters: list[Array], config: dict[str, Scalar]
    ) -> tuple[list[Array], int, dict[str, Scalar]]:
        res = self.endpoint.fit(FitIns(to_parameters(parameters), config))
        return from_parameters(res.parameters), res.num_examples, res.metrics


Party = ProtocolClient | Rebuilt


def rebuilt(count: int) -> list[Rebuilt]:
    """Make rebuilt parties that share pair keys; exchange 3 is the next."""
    parties = [Rebuilt(replace(TINY, parties=count + 1), rank) for rank in range(1, count + 1)]
    agree(parties)
    return parties


def send(
    party: Party, exchange: int, phase: str, *arrays: Array
) -> tuple[list[Array], dict[str, Scalar]]:
    """Send one request in wire format; return the reply and its metrics."""
    config: dict[str, Scalar] = {
        "exchange": exchange,
        "phases": phase,
        "arrays": str(len(arrays)),
    }
    reply, _, metrics = party.fit(list(arrays), config)
    return reply, metrics


def answer(party: Party, exchange: int, phase: str, *arrays: Array) -> Array:
    """Return the one array of a reply that must succeed."""
    reply, metrics = send(party, exchange, phase, *arrays)
    assert metrics == {}
    assert len(reply) == 1
    return reply[0]


def refusal(party: Party, exchange: int, phase: str, *arrays: Array) -> tuple[str, str]:
    """Return class and text of an error reply without further content."""
    reply, metrics = send(party, exchange, phase, *arrays)
    assert reply == []
    return str(metrics["error"]), str(metrics["message"])


def public_keys(parties: Sequence[Party], exchange: int = 1) -> Array:
    return np.stack([answer(party, exchange, "public_key") for party in parties])


def agreed(count: int, **options: Scalar) -> list[PassiveParty]:
    """Build parties that share pair keys; exchange 3 is the next."""
    parties = passive(count, **options)
    agree(parties)
    return parties


def agree(parties: Sequence[Party]) -> None:
    """Let parties agree on pair keys, in exchanges 1 and 2."""
    keys = public_keys(parties)
    for party in parties:
        assert send(party, 2, "agree", keys, SALT) == ([], {})


@lru_cache
def shared_agreed(count: int) -> list[PassiveParty]:
    """Return parties whose `mask` is called directly, without using up a counter."""
    return agreed(count)


def masker_of(party: PassiveParty) -> Masker:
    """Return the component that masks a party's uploads."""
    masker: Masker = party.masker  # type: ignore[attr-defined]
    return masker


def client(party: PassiveParty) -> EasterClient:
    assert isinstance(party, EasterClient)
    return party


def pair_keys_of(party: PassiveParty) -> dict[int, bytes]:
    keys: dict[int, bytes] = masker_of(party).state_dict()["keys"]
    assert [len(key) for key in keys.values()] == [32] * (party.cfg.parties - 2)
    return keys


def blinded(
    parties: Sequence[PassiveParty], received: Received, xs: Sequence[Tensor]
) -> list[Words]:
    words = []
    for party, x in zip(parties, xs, strict=True):
        party.received = received
        words.append(masker_of(party).mask(x))
    return words


def added(words: Sequence[Words]) -> Words:
    total: Words = np.add.reduce(words, dtype=np.uint32)
    return total


def embeddings(party: PassiveParty, rows: Array) -> Tensor:
    party.net.eval()
    with torch.no_grad():
        return party.embed_rows(rows)
