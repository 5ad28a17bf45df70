"""Bases of all proxies of passive parties."""

from abc import abstractmethod
from typing import NoReturn, Protocol

from flwr.common import EvaluateIns, FitIns, FitRes, GetParametersIns, ReconnectIns
from flwr.server.client_proxy import ClientProxy

from vfl_flower.common.errors import ProtocolError


class PartyProxy(ClientProxy):
    """Proxy of a passive party, for roll calls and exchanges only."""

    def get_parameters(
        self, ins: GetParametersIns, timeout: float | None, group_id: int | None
    ) -> NoReturn:
        """Refuse: weights never leave a party."""
        raise ProtocolError("a passive party does not give its weights away")

    def evaluate(self, ins: EvaluateIns, timeout: float | None, group_id: int | None) -> NoReturn:
        """Refuse: evaluation is part of the protocol."""
        raise ProtocolError("evaluation is part of the protocol")

    def reconnect(self, ins: ReconnectIns, timeout: float | None, group_id: int | None) -> NoReturn:
        """Refuse: a party reconnects by itself."""
        raise ProtocolError("a passive party is not told to reconnect")


class Pending(Protocol):
    """An exchange with one party that has begun."""

    def wait(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds; tell whether the exchange has ended."""

    def result(self) -> FitRes:
        """Wait for the answer, or raise its failure."""


class SendingProxy(PartyProxy):
    """Proxy that sends an exchange without waiting for the answer."""

    @abstractmethod
    def begin(self, ins: FitIns) -> Pending:
        """Send one exchange; failures are raised by its `result`."""
