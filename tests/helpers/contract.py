"""Helpers of the contract suite: tiny runs over each transport, wiretapped."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from flwr.app import RecordDict
from flwr.client import Client
from flwr.common import FitIns, FitRes, GetPropertiesIns, GetPropertiesRes
from torch import Tensor

from tests.helpers.connections.streams import run_streamed
from vfl_flower.common.codec import Array, decode, from_parameters, to_tensor
from vfl_flower.common.state import pack, unpack
from vfl_flower.common.worker import Concurrency, InTurn
from vfl_flower.config.method_spec import MethodSpec
from vfl_flower.config.registry import METHODS, owners_of, spec_of
from vfl_flower.config.run_config import RunConfig
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.protocol.client import ProtocolClient
from vfl_flower.protocol.strategy import Coordinator
from vfl_flower.protocol.transport import Transport
from vfl_flower.transport.endpoint import ARRAYS, Endpoint, RebuiltEndpoint
from vfl_flower.transport.local import serve
from vfl_flower.workflows.build_parties import build_active, build_passive

CARRIERS = ("local", "amnesia", "stream")
BATCH, EPOCHS = 200, 2

PUBLISHED: dict[str, Any] = {"method": "c_vfl", "share_labels": True, "compression": "topk:0.5"}
ENCRYPTED: dict[str, Any] = {"method": "boosted_trees", "gradient_encryption": "paillier"}
CASES: dict[str, dict[str, Any]] = {method: {"method": method} for method in METHODS} | {
    "pravfed": {"method": "pravfed", "label_privacy": "none"},  # noise is no function of the seed
    "adptvfedconv": {
        "method": "adptvfedconv",
        "models": "tests.helpers.networks:TinyChain",
        "cut": "one",
        "pretrain_epochs": 1,
        "local_epochs": 1,
        "decoder_rate": 0.01,
    },
    "agg_vfl adaptive": {"method": "agg_vfl", "adaptive_steps": 2},
    "agg_vfl checked": {"method": "agg_vfl", "share_check": "on"},
    "agg_vfl within a bound": {"method": "agg_vfl", "embedding_bound": "0.5"},
    "boosted_trees encrypted": ENCRYPTED | {"tree_depth": 2, "bins": 4, "train_rows": 500},
    "logistic with lasso": {"method": "logistic", "lasso": 2.0},
    "vafl in turns": {"method": "vafl", "vafl_mode": "asynchronous"},
    "c_vfl both ways": {"method": "c_vfl", "compression": "lattice:4", "downlink": "lattice:8"},
    "c_vfl as published": PUBLISHED,
    "splitnn of labels only": {"method": "splitnn", "active_columns": "none"},
    "c_vfl as published, both ways": PUBLISHED | {"downlink": "quantize:8"},
    "c_vfl as published of labels only": PUBLISHED | {"active_columns": "none"},
}
"""What the contract is kept by: every method, and what sends something else than its default."""

IN_TURNS = {"vafl in turns"}
"""Cases in which a batch is one passive party's, and not everybody's."""

ON_CARRIERS = [
    (case, carrier)
    for case in CASES
    for carrier in CARRIERS
    if carrier != "amnesia" or case in ("easter", "agg_vfl checked", "splitnn", "adptvfedconv")
]
"""Every case live, here and over a connection; some also rebuilt for each message, as is slower."""


def method_of(case: str) -> MethodSpec:
    """Return a case's entry in the registry."""
    return spec_of(CASES[case]["method"])


def configured(case: str, seed: int = 0) -> RunConfig:
    """Return the run of all contract tests, of two epochs."""
    usual: dict[str, Any] = {
        "seed": seed,
        "models": "mlp",
        "epochs": EPOCHS,
        "batch_size": BATCH,
        "embedding_dim": 16,
    }
    if CASES[case]["method"] in owners_of("local_steps"):
        usual["local_steps"] = 2
    return RunConfig(**(used(case, usual) | CASES[case]))


def short(case: str) -> RunConfig:
    """Return the run with two steps an epoch."""
    return replace(configured(case), train_rows=400)


def used(case: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that a case's method has a use for."""
    return {name: each for name, each in options.items() if name not in method_of(case).unused}


@dataclass
class Tap(Client):
    """Passes everything on to another client, and keeps it."""

    client: Client
    sent: list[tuple[FitIns, FitRes]] = field(default_factory=list)

    def get_properties(self, ins: GetPropertiesIns) -> GetPropertiesRes:
        return self.client.get_properties(ins)

    def fit(self, ins: FitIns) -> FitRes:
        res = self.client.fit(ins)
        self.sent.append((ins, res))
        return res

    def numbered(self) -> Iterator[tuple[int, str, list[Array]]]:
        """Yield every requested phase of this party, with exchange and arrays."""
        for ins, _ in self.sent:
            arrays = from_parameters(ins.parameters)
            counts = [int(n) for n in str(ins.config["arrays"]).split(",")]
            for phase, count in zip(str(ins.config["phases"]).split(","), counts, strict=True):
                yield int(ins.config["exchange"]), phase, arrays[:count]
                arrays = arrays[count:]

    def requests(self) -> list[tuple[str, list[Array]]]:
        """Return every phase asked of this party, with its arrays, in order."""
        return [(phase, arrays) for _, phase, arrays in self.numbered()]

    def replies(self) -> list[Array]:
        """Return every array that left this party."""
        return [array for _, res in self.sent for array in from_parameters(res.parameters)]


@dataclass
class Delayed(Client):
    """Answers after varying delays, so that parties overtake each other."""

    client: Client
    seed: int

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)  # noqa: S311

    def get_properties(self, ins: GetPropertiesIns) -> GetPropertiesRes:
        return self.client.get_properties(ins)

    def fit(self, ins: FitIns) -> FitRes:
        time.sleep(self.random.uniform(0, 0.002))
        return self.client.fit(ins)


@dataclass
class Forgetful(Client):
    """Serves a live party whose memory is packed and unpacked every message."""

    party: PassiveParty

    def get_properties(self, ins: GetPropertiesIns) -> GetPropertiesRes:
        return Endpoint(self.party).get_properties(ins)

    def fit(self, ins: FitIns) -> FitRes:
        self.party.recall(unpack(*pack(self.party.memory())))
        res = Endpoint(self.party).fit(ins)
        self.party.recall(self.party.memory())
        return res


Weights = list[dict[str, Tensor]]
Build = Callable[[int], ProtocolClient]


@dataclass
class Parties:
    """The passive parties of a run on one carrier."""

    clients: list[Client]
    weights: Callable[[], Weights]


def weights_of(party: ProtocolClient) -> dict[str, Tensor]:
    """Return the weights of a party's network."""
    assert isinstance(party, PassiveParty)
    return party.net.state_dict()


def passive_parties(carrier: str, build: Build, count: int = 3) -> Parties:
    """Put the passive parties on a carrier."""
    if carrier != "amnesia":
        live = [build(k) for k in range(1, count + 1)]
        return Parties([Endpoint(party) for party in live], lambda: [*map(weights_of, live)])
    states = [RecordDict() for _ in range(count)]

    def endpoint(k: int) -> Client:
        return RebuiltEndpoint(lambda: build(k), k, states[k - 1])

    def weights(k: int) -> dict[str, Tensor]:
        never_asked = ARRAYS not in states[k - 1].array_records
        return weights_of(build(k)) if never_asked else weights_in(states[k - 1])

    ranks = range(1, count + 1)
    return Parties([*map(endpoint, ranks)], lambda: [*map(weights, ranks)])


@dataclass
class ClientTransport(Transport):
    """A transport between parties of this process, by its name in `CARRIERS`."""

    carrier: str
    clients: Sequence[Client]
    concurrency: Concurrency | None = None

    def run(self, active: Coordinator) -> dict[str, Any]:
        if self.carrier == "stream":
            return run_streamed(active, self.clients)
        serve(active, self.clients, self.concurrency)
        return {}


def carry(carrier: str, active: Coordinator, clients: Sequence[Client]) -> None:
    """Run a protocol over a transport."""
    ClientTransport(carrier, clients).run(active)


def weights_in(state: RecordDict) -> dict[str, Tensor]:
    """Read a rebuilt party's network from its Flower state."""
    prefix = "state.net."
    return {
        name.removeprefix(prefix): to_tensor(decode(array.data))
        for name, array in state.array_records[ARRAYS].items()
        if name.startswith(prefix)
    }


@dataclass
class Run:
    """A finished run."""

    active: ActiveParty
    taps: list[Tap]
    passive: Weights

    @property
    def weights(self) -> Weights:
        return [dict(self.active.net.state_dict()), *self.passive]

    def asked_rows(self, k: int = 0) -> list[tuple[str, Array]]:
        """Return every phase requested by rows, and the rows, from the wire."""
        return [(p, a[0]) for p, a in self.taps[k].requests() if a and of_rows(a[0])]

    def phases(self) -> tuple[set[str], set[str]]:
        """Return the phases that training asks, and those that it tells."""
        requests = [str(ins.config["phases"]).split(",") for ins, _ in self.taps[0].sent]
        _, client = spec_of(self.active.cfg.method).load()
        used = {name for phases in requests for name in phases if hasattr(client, name)}
        training = {name for name in used if getattr(client, name).phase.training}
        asked = training & {phases[-1] for phases in requests}
        return asked, training - asked

    def batches(self, k: int | None = None) -> list[Array]:
        """Return the rows of every training batch, of one party or all."""
        asked, _ = self.phases()
        taps = self.taps if k is None else [self.taps[k]]
        by_exchange = {
            number: arrays[0]
            for tap in taps
            for number, phase, arrays in tap.numbered()
            if phase in asked and arrays and of_rows(arrays[0])
        }
        return [by_exchange[number] for number in sorted(by_exchange)]

    def evaluations(self) -> list[Array]:
        """Return the rows of every evaluation, from the wire."""
        asked = self.active.ledger.by_phase("evaluation")
        return [rows for phase, rows in self.asked_rows() if phase in asked]


def of_rows(array: Array) -> bool:
    """Tell whether an array names rows."""
    return array.dtype == np.int32 and array.ndim == 1


@cache
def finished(method: str, carrier: str, seed: int = 0) -> Run:
    """Train once: here in turn, elsewhere in reverse and with delays."""
    active = build_active(cfg := configured(method, seed))
    parties = passive_parties(carrier, lambda k: build_passive(cfg, k))
    away, clients = carrier != "local", enumerate(parties.clients)
    taps = [Tap(Delayed(client, k) if away else client) for k, client in clients]
    in_order, concurrency = (taps[::-1], None) if away else (taps, InTurn())
    ClientTransport(carrier, in_order, concurrency).run(active)
    return Run(active, taps, parties.weights())


def differing(ours: Weights, theirs: Sequence[dict[str, Tensor]]) -> list[str]:
    """Return location and name of each differing array, of equal names."""
    assert all(ours)
    assert [set(a) for a in ours] == [set(b) for b in theirs]
    pairs = enumerate(zip(ours, theirs, strict=True))
    return [f"{rank}: {n}" for rank, (a, b) in pairs for n in a if not a[n].equal(b[n])]
