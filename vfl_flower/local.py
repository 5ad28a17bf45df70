"""The local carrier: every party in this process, each exchange through the wire's codec."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NoReturn

from flwr.app import RecordDict
from flwr.client import Client
from flwr.common import (
    EvaluateIns,
    FitIns,
    FitRes,
    GetParametersIns,
    GetPropertiesIns,
    GetPropertiesRes,
    ReconnectIns,
)
from flwr.server import SimpleClientManager
from flwr.server.client_proxy import ClientProxy

from vfl_flower.active import ActiveParty
from vfl_flower.endpoint import RebuiltEndpoint
from vfl_flower.errors import ProtocolError
from vfl_flower.passive import PassiveParty
from vfl_flower.server import ProtocolServer


class LocalProxy(ClientProxy):
    """A Flower client of this process."""

    def __init__(self, cid: str, client: Client) -> None:
        super().__init__(cid)
        self.client = client

    def get_properties(
        self, ins: GetPropertiesIns, timeout: float | None, group_id: int | None
    ) -> GetPropertiesRes:
        """Answer the roll call."""
        return self.client.get_properties(ins)

    def fit(self, ins: FitIns, timeout: float | None, group_id: int | None) -> FitRes:
        """Answer one exchange."""
        return self.client.fit(ins)

    def get_parameters(
        self, ins: GetParametersIns, timeout: float | None, group_id: int | None
    ) -> NoReturn:
        """Refuse: weights never leave a party."""
        raise ProtocolError("a passive party does not give its weights away")

    def evaluate(self, ins: EvaluateIns, timeout: float | None, group_id: int | None) -> NoReturn:
        """Refuse: evaluation is part of the protocol."""
        raise ProtocolError("evaluation is part of the protocol")

    def reconnect(self, ins: ReconnectIns, timeout: float | None, group_id: int | None) -> NoReturn:
        """Refuse: there is no connection."""
        raise ProtocolError("a local party has no connection")


def run_local(active: ActiveParty, passive: Sequence[PassiveParty]) -> None:
    """Run a protocol with live parties, side by side in threads."""
    serve(active, [party.to_client() for party in passive])


def run_amnesiac(active: ActiveParty, build: Callable[[int], PassiveParty]) -> list[RecordDict]:
    """Run a protocol with parties that are rebuilt for every message, as Flower does it.

    Parameters
    ----------
    active : ActiveParty
        The active party.
    build : callable
        From roster index to a new passive party.

    Returns
    -------
    list of RecordDict
        What each party remembers at the end.
    """
    states = [RecordDict() for _ in range(active.cfg.parties - 1)]
    clients = [RebuiltEndpoint(partial(build, k), k, state) for k, state in enumerate(states)]
    serve(active, clients)
    return states


def serve(active: ActiveParty, clients: Sequence[Client]) -> None:
    """Let a protocol server drive the active party over clients of this process."""
    manager = SimpleClientManager()
    for number, client in enumerate(clients):
        manager.register(LocalProxy(f"client-{number}", client))
    ProtocolServer(client_manager=manager, strategy=active).fit(0, None)
