"""Runs a protocol over sessions, and goes back to a checkpoint when a party had to start again."""

import logging
from collections.abc import Mapping
from typing import Any

from flwr.serverapp import Grid

from vfl_flower.common.errors import PartyAway
from vfl_flower.common.layout import steps_kept
from vfl_flower.parties.active import ActiveParty
from vfl_flower.transport.protocol_server import ProtocolServer
from vfl_flower.transport.stream.server import StreamServer
from vfl_flower.transport.stream.session_opener import SessionOpener

log = logging.getLogger("vfl_flower.transport.stream")

TRIES = 5
"""How often in a row a run goes back to the same checkpoint before it gives up."""


def run_stream(
    active: ActiveParty, grid: Grid, listen: str, options: Mapping[str, object]
) -> dict[str, Any]:
    """Open a session with every node, run the protocol, and end the sessions.

    Parameters
    ----------
    active : ActiveParty
        Built, not yet started.
    grid : Grid
        Flower's, of the run.
    listen : str
        Address and port for the parties to dial.
    options : mapping
        What the parties are told of the run.

    Returns
    -------
    dict
        What the result says of the sessions.

    Raises
    ------
    VflError
        Whatever went wrong. A party that stays away is named; checkpoints stay.
    """
    cfg, run = active.cfg, grid.run.run_id
    opening = SessionOpener(grid, options, active.request_stop)
    hub = StreamServer(
        listen,
        cfg.stream_advertise,
        run,
        cfg.parties - 1,
        cfg.stream_grace,
        cfg.answer_timeout,
        opening.joined,
        opening.ended,
    )
    log.info("parties dial %s, over TLS", hub.address)
    opening.start(hub)
    try:
        returns = _through(active, opening)
        return {"tls": True, "returns_to_a_checkpoint": returns} | opening.facts(active.roster)
    finally:
        opening.stop()
        hub.close()


def _through(active: ActiveParty, opening: SessionOpener) -> int:
    """Run the protocol to its end; tell how often it had to go back."""
    returns, tried, latest = 0, 0, None
    while True:
        try:
            ProtocolServer(client_manager=opening.manager, strategy=active).fit(0, None)
        except PartyAway as away:
            if active.folder is None or active.stop:
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
