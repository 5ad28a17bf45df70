"""Flower client proxy of a party in a session."""

from flwr.common import FitIns, FitRes, GetPropertiesIns, GetPropertiesRes

from vfl_flower.transport.endpoint import OK
from vfl_flower.transport.proxy import PartyProxy
from vfl_flower.transport.stream.frames import Kind, parameters_of
from vfl_flower.transport.stream.session import Session


class StreamProxy(PartyProxy):
    """Sends each call through a session.

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
        """Send one exchange."""
        reply = self.session.call(Kind.EXCHANGE, ins.config, ins.parameters.tensors)
        return FitRes(OK, parameters_of(reply), 0, dict(reply.record))
