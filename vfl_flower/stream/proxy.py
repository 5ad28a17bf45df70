"""The Flower client proxy of a party in a session."""

from typing import NoReturn

from flwr.common import (
    Code,
    EvaluateIns,
    FitIns,
    FitRes,
    GetParametersIns,
    GetPropertiesIns,
    GetPropertiesRes,
    ReconnectIns,
    Status,
)
from flwr.server.client_proxy import ClientProxy

from vfl_flower.errors import ProtocolError
from vfl_flower.stream.frame import Kind, parameters_of
from vfl_flower.stream.session import Session

OK = Status(Code.OK, "")


class StreamProxy(ClientProxy):
    """Carries each call through a session.

    Parameters
    ----------
    session : Session
        Joined.
    """

    def __init__(self, session: Session) -> None:
        super().__init__(str(session.node))
        self.session = session

    def get_properties(
        self, ins: GetPropertiesIns, timeout: float | None, group_id: int | None
    ) -> GetPropertiesRes:
        """Call the roll."""
        reply = self.session.call(Kind.ROLL_CALL, ins.config, [])
        return GetPropertiesRes(OK, dict(reply.record))

    def fit(self, ins: FitIns, timeout: float | None, group_id: int | None) -> FitRes:
        """Carry one exchange."""
        reply = self.session.call(Kind.EXCHANGE, ins.config, ins.parameters.tensors)
        parameters = parameters_of(reply)
        return FitRes(OK, parameters, 0, dict(reply.record))

    def get_parameters(
        self, ins: GetParametersIns, timeout: float | None, group_id: int | None
    ) -> NoReturn:
        """Refuse: weights never leave a party."""
        raise ProtocolError("a passive party does not give its weights away")

    def evaluate(self, ins: EvaluateIns, timeout: float | None, group_id: int | None) -> NoReturn:
        """Refuse: evaluation is part of the protocol."""
        raise ProtocolError("evaluation is part of the protocol")

    def reconnect(self, ins: ReconnectIns, timeout: float | None, group_id: int | None) -> NoReturn:
        """Refuse: parties reconnect by themselves."""
        raise ProtocolError("a party in a session reconnects by itself")
