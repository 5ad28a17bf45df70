"""Session opener: invites every node through Flower's own authenticated channel."""

import time
from collections.abc import Mapping
from threading import Event, Thread
from typing import Any

from flwr.app import Message
from flwr.app.message_type import MessageType
from flwr.compat.common import recorddict_compat as compat
from flwr.server import SimpleClientManager
from flwr.serverapp import Grid
from flwr.supercore.run import RunNotRunningException

from vfl_flower.common.errors import PartyAway, last_line, printable
from vfl_flower.common.text.logs import safe_log
from vfl_flower.protocol.roster import Roster
from vfl_flower.protocol.strategy import Coordinator
from vfl_flower.transport.stream.absences import Absences
from vfl_flower.transport.stream.invitation import invitation_to
from vfl_flower.transport.stream.proxy import StreamProxy
from vfl_flower.transport.stream.server import StreamServer
from vfl_flower.transport.stream.session import Session

log = safe_log("vfl_flower.transport.stream")

POLL = 1.0  # seconds between looks at nodes and replies
AGAIN = 5.0  # seconds until a node that did not keep its session is invited again


class SessionOpener:
    """Keeps every node of a run in a session.

    Parameters
    ----------
    grid : Grid
        Flower's.
    options : mapping
        Configuration that the parties are told.
    active : Coordinator
        Whose run it is; hears when Flower says that the run is over.

    Attributes
    ----------
    manager : SimpleClientManager
        Has a `StreamProxy` for each session that a party has joined.
    absences : Absences
        Knows which invited nodes have not come.
    """

    def __init__(self, grid: Grid, options: Mapping[str, object], active: Coordinator) -> None:
        self.grid, self.options, self._active = grid, options, active
        self.absences = Absences(active.cfg.parties - 1)
        self.manager = SimpleClientManager()
        self._sessions: dict[int, tuple[Session, float]] = {}
        self._messages: dict[str, Session] = {}
        self._proxies: dict[Session, StreamProxy] = {}
        self._done = Event()
        self._thread: Thread | None = None

    def joined(self, session: Session) -> None:
        """Register a party that has joined."""
        log.info("node %d has joined from %s", session.node, session.peer)
        self.absences.joined(session)
        self._proxies[session] = StreamProxy(session)
        self.manager.register(self._proxies[session])

    def ended(self, session: Session) -> None:
        """Unregister a party whose session is over."""
        if proxy := self._proxies.pop(session, None):
            self.manager.unregister(proxy)

    def facts(self, roster: Roster) -> dict[str, Any]:
        """Return addresses and reconnects, by party."""
        sessions = {n: p.session for _, n, p in roster if isinstance(p, StreamProxy)}
        return {
            "addresses": {name: session.peer for name, session in sessions.items()},
            "reconnects": {name: session.reconnects for name, session in sessions.items()},
        }

    def start(self, server: StreamServer) -> None:
        """Begin to invite nodes."""
        self._thread = Thread(target=self._keep, args=(server,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the invitations."""
        self._done.set()
        if self._thread:
            # Flower may be asked several times before it is given up; after a stop it is not heard
            self._thread.join(0 if self._active.stop else 5)

    def _keep(self, server: StreamServer) -> None:
        while not self._done.is_set() and not self._active.stop:
            try:
                self._invite(server)
                self._pull()
                self.absences.notice(self._active.patience)
            except RunNotRunningException:
                self._active.request_stop()
                return
            except Exception as error:  # Flower's server may be away for a while
                log.warning("Flower cannot be asked for nodes and replies: %s", last_line(error))
            self._done.wait(POLL)

    def _invite(self, server: StreamServer) -> None:
        """Invite the nodes that have no session."""
        for node in self.grid.get_node_ids():
            session, since = self._sessions.get(node, (None, 0.0))
            if session and (session.alive or time.monotonic() - since < AGAIN):
                continue
            if self._done.is_set():
                return
            invitation, session = server.invite(node)
            content = compat.fitins_to_recorddict(
                invitation_to(invitation, self.options), keep_input=True
            )
            message = Message(content, node, MessageType.TRAIN, ttl=self._active.session_life)
            self._sessions[node] = session, time.monotonic()
            self.absences.invited(session)
            try:
                sent = [name for name in self.grid.push_messages([message]) if name]
            except Exception:
                session.fail(PartyAway("its invitation could not be sent"))
                raise
            if not sent:
                session.fail(PartyAway("Flower did not take its invitation"))
            self._messages.update(dict.fromkeys(sent, session))

    def _pull(self) -> None:
        """End the sessions of nodes that have answered their invitation."""
        if not self._messages:
            return
        for message in self.grid.pull_messages(list(self._messages)):
            session = self._messages.pop(message.metadata.reply_to_message_id, None)
            if session and session.alive:
                reason = _reason(message)
                log.warning("node %d left its session: %s", session.node, reason)
                session.fail(PartyAway(reason))


def _reason(message: Message) -> str:
    """Return the reason why a node left its session."""
    if message.has_error():
        return f"Flower says: {printable(message.error.reason)}"
    try:
        metrics = compat.recorddict_to_fitres(message.content, keep_input=False).metrics
    except Exception:  # Flower's readers have no error of their own
        return "it left with an answer that cannot be read"
    return f"{printable(metrics.get('error', 'it left'))}: {printable(metrics.get('message', ''))}"
