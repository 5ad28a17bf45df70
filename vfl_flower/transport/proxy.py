"""Base of all proxies of passive parties."""

from typing import NoReturn

from flwr.common import EvaluateIns, GetParametersIns, ReconnectIns
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
