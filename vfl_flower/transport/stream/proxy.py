"""Flower client proxy of a party in a session."""

from flwr.common import FitIns, FitRes, GetPropertiesIns, GetPropertiesRes

from vfl_flower.transport.endpoint import OK
from vfl_flower.transport.proxy import SendingProxy
from vfl_flower.transport.stream.frames import Kind, parameters_of
from vfl_flower.transport.stream.session import Session


class StreamProxy(SendingProxy):
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
        return self.begin(ins).result()

    def begin(self, ins: FitIns) -> "Sent":
        """Send one exchange, and leave the answer for later."""
        return Sent(self.session, ins)


class Sent:
    """One exchange in a session, sent when this is made.

    Parameters
    ----------
    session : Session
        The party's.
    ins : FitIns
        The request.
    """

    def __init__(self, session: Session, ins: FitIns) -> None:
        self.session = session
        self._failure: Exception | None = None
        try:
            session.send(Kind.EXCHANGE, ins.config, ins.parameters.tensors)
        except Exception as failure:  # the other parties' exchanges go on
            self._failure = failure

    def wait(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds; tell whether the exchange has ended."""
        return self._failure is not None or self.session.answered(timeout)

    def result(self) -> FitRes:
        """Wait for the answer, or raise its failure."""
        if self._failure is not None:
            raise self._failure
        reply = self.session.answer()
        return FitRes(OK, parameters_of(reply), 0, dict(reply.record))
