"""Stream transport: gRPC sessions with all parties, and recovery from checkpoints."""

from collections.abc import Mapping
from typing import Any

from flwr.common import FitIns, FitRes, Parameters
from flwr.serverapp import Grid

from vfl_flower.common.errors import ConfigError, PartyAway, RosterError
from vfl_flower.common.layout import steps_kept
from vfl_flower.common.names import party_name
from vfl_flower.common.text.logs import safe_log
from vfl_flower.config.run_config import RunConfig
from vfl_flower.protocol.strategy import Coordinator
from vfl_flower.transport.endpoint import OK
from vfl_flower.transport.flower_transport import FlowerTransport, Host, cut_short
from vfl_flower.transport.protocol_server import ProtocolServer
from vfl_flower.transport.stream.client import StreamClient
from vfl_flower.transport.stream.invitation import invitation_in
from vfl_flower.transport.stream.server import StreamServer
from vfl_flower.transport.stream.session_opener import SessionOpener

log = safe_log("vfl_flower.transport.stream")

TRIES = 5
"""Recoveries in a row from the same checkpoint before a run gives up."""

LOOPBACK = "127.0.0.1:0"


class StreamTransport(FlowerTransport):
    """Opens a session with every node, and sends all exchanges inside it.

    For the parameters, see `FlowerTransport`.
    """

    name = "stream"

    def __init__(
        self, grid: Grid, cfg: RunConfig, options: Mapping[str, object], simulated: bool
    ) -> None:
        super().__init__(grid, cfg, options, simulated)
        self.listen = cfg.stream_listen or (LOOPBACK if simulated else "")
        if not self.listen:
            raise ConfigError(
                "stream-listen is not set: on a SuperLink, say at which host:port the parties dial "
                f"in ({LOOPBACK} if all are on this machine), or use transport = messages"
            )

    def run(self, active: Coordinator) -> dict[str, Any]:
        """Open the sessions, run the protocol, and end the sessions."""
        cfg = active.cfg
        opener = SessionOpener(self.grid, self.options, active)
        server = StreamServer(
            self.listen,
            cfg.stream_advertise,
            self.grid.run.run_id,
            cfg.parties - 1,
            cfg.stream_grace,
            cfg.answer_timeout,
            opener.joined,
            opener.ended,
            lambda: active.stop,
        )
        log.info("parties dial %s, over TLS", server.address)
        opener.start(server)
        try:
            returns = _through(active, opener)
            facts = opener.facts(active.strategy.roster)
            return {"tls": True, "returns_to_a_checkpoint": returns} | facts
        except RosterError as error:
            raise RosterError("; ".join([str(error), *opener.absences.reasons()])) from error
        finally:
            opener.stop()
            server.close()

    @staticmethod
    def answer(ins: FitIns, host: Host) -> FitRes | None:
        """Answer all exchanges of the session that a message invites to."""
        opened = invitation_in(ins.config)
        if opened is None:
            return None
        invitation, options = opened
        StreamClient(invitation, host.live(options), host.rank).serve()
        return FitRes(OK, Parameters([], "numpy.ndarray"), 0, {})


def _through(active: Coordinator, opener: SessionOpener) -> int:
    """Run the protocol to its end; return the number of recoveries."""
    returns, tried, latest = 0, 0, None
    while True:
        try:
            ProtocolServer(client_manager=opener.manager, strategy=active.strategy).fit(0, None)
        except RosterError as error:
            _go_on(active, error, returns)
        except PartyAway as away:
            if active.stop:
                raise cut_short(away) from away
            if active.folder is None:
                raise
            step = max(steps_kept(active.folder), default=None)
            tried = tried + 1 if returns and step == latest else 1
            if tried > TRIES:
                raise
            log.warning("%s; going back to step %d once all are here", away, step or 0)
            active.restart_from(step)
            latest, returns = step, returns + 1
        else:
            return returns


def _go_on(active: Coordinator, error: RosterError, returns: int) -> None:
    """Make the next attempt without parties that did not come back.

    Raises
    ------
    RosterError
        If they were never there, something else is wrong, or the run is not to go on.
    """
    if not error.missing or not returns or active.cfg.on_leave == "refuse":
        raise error
    names = ", ".join(map(party_name, sorted(error.missing)))
    log.warning("%s did not come back; training goes on without, as on-leave says", names)
    active.go_on_without(error.missing)
