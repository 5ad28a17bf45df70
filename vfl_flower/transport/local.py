"""Local transport: all parties in one process, arrays through the wire codec."""

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from threading import Semaphore
from typing import Any

from flwr.app import RecordDict
from flwr.client import Client
from flwr.common import FitIns, FitRes, GetPropertiesIns, GetPropertiesRes
from flwr.server import SimpleClientManager

from vfl_flower.common.names import party_name
from vfl_flower.common.worker import Adaptive, Concurrency
from vfl_flower.protocol.client import ProtocolClient
from vfl_flower.protocol.strategy import Coordinator
from vfl_flower.protocol.transport import Transport
from vfl_flower.transport.endpoint import Endpoint, RebuiltEndpoint
from vfl_flower.transport.protocol_server import ProtocolServer
from vfl_flower.transport.proxy import PartyProxy


class LocalProxy(PartyProxy):
    """Proxy of a Flower client in this process.

    Parameters
    ----------
    cid : str
        Its name.
    client : Client
        The client.
    turns : context manager
        Entered for every exchange.
    """

    def __init__(
        self, cid: str, client: Client, turns: AbstractContextManager[object] | None = None
    ) -> None:
        super().__init__(cid)
        self.client, self.turns = client, turns or nullcontext()

    def get_properties(
        self, ins: GetPropertiesIns, timeout: float | None, group_id: int | None
    ) -> GetPropertiesRes:
        """Answer the roll call."""
        return self.client.get_properties(ins)

    def fit(self, ins: FitIns, timeout: float | None, group_id: int | None) -> FitRes:
        """Answer one exchange, in turn."""
        with self.turns:
            return self.client.fit(ins)


class LocalTransport(Transport):
    """Runs protocols with parties of this process, threaded where faster.

    Parameters
    ----------
    passive : sequence of ProtocolClient
        In roster order.
    concurrency : Concurrency, optional
        Decides when they work side by side; as is faster, unless given.
    """

    name = "local"

    def __init__(
        self, passive: Sequence[ProtocolClient], concurrency: Concurrency | None = None
    ) -> None:
        self.passive, self.concurrency = passive, concurrency

    def run(self, active: Coordinator) -> dict[str, Any]:
        """Run the protocol with the live parties, in one profile."""
        for party in self.passive:
            party.profile = active.profile.of(party_name(party.rank))
        serve(active, [Endpoint(party) for party in self.passive], self.concurrency)
        return {}


def run_local(
    active: Coordinator,
    passive: Sequence[ProtocolClient],
    concurrency: Concurrency | None = None,
) -> None:
    """Run a protocol with live parties."""
    LocalTransport(passive, concurrency).run(active)


def run_amnesiac(active: Coordinator, build: Callable[[int], ProtocolClient]) -> list[RecordDict]:
    """Run a protocol with parties that are rebuilt for every message.

    Parameters
    ----------
    active : Coordinator
        The active party.
    build : callable
        From rank to a new passive party.

    Returns
    -------
    list of RecordDict
        Memory of each party at the end.
    """
    states = [RecordDict() for _ in range(active.cfg.parties - 1)]
    clients = [RebuiltEndpoint(partial(build, k), k, state) for k, state in enumerate(states, 1)]
    serve(active, clients)
    return states


def serve(
    active: Coordinator, clients: Sequence[Client], concurrency: Concurrency | None = None
) -> None:
    """Drive the active party over clients of this process."""
    manager, turns = SimpleClientManager(), _turns(len(clients))
    for number, client in enumerate(clients):
        manager.register(LocalProxy(f"client-{number}", client, turns))
    active.strategy.concurrency = concurrency or Adaptive(len(clients))
    ProtocolServer(client_manager=manager, strategy=active.strategy).fit(0, None)


def _turns(parties: int) -> AbstractContextManager[object]:
    """Limit the parties that compute at once to the number of cores.

    More only hinder each other (30 passive parties on two cores took 2.4 times as long a
    step); a few are better left to the operating system.
    """
    cores = max(os.cpu_count() or 1, 2)
    return Semaphore(cores) if parties > 2 * cores else nullcontext()
