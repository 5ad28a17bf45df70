"""Nodes that were invited and whose ClientApp has not come."""

import time

from vfl_flower.common.names import party_name
from vfl_flower.common.text.logs import safe_log
from vfl_flower.transport.stream.session import Session

log = safe_log("vfl_flower.transport.stream")

NOTICE = 30.0
"""Seconds after its invitation in which a node's ClientApp starts and joins."""


class Absences:
    """Names the parties whose SuperNodes take invitations and start nothing.

    A party is known once it has joined; another one is a name that no joined party has.

    Parameters
    ----------
    parties : int
        Number of passive parties.
    """

    def __init__(self, parties: int) -> None:
        self._names = [party_name(rank) for rank in range(1, parties + 1)]
        self._invited: dict[int, tuple[Session, float]] = {}
        self._known: dict[int, str] = {}
        self._told: dict[Session, str] = {}

    def invited(self, session: Session) -> None:
        """Begin to wait for a node."""
        self._invited[session.node] = session, time.monotonic()

    def joined(self, session: Session) -> None:
        """Learn which party a node is, as it says itself."""
        if (name := party_name(session.rank)) in self._names:
            self._known[session.node] = name

    def notice(self, patience: float) -> None:
        """Report each absent party, again when its name is known better.

        Parameters
        ----------
        patience : float
            Seconds that the run waits for its parties.
        """
        for session, reason in self._late():
            if self._told.get(session) != reason:
                self._told[session] = reason
                log.warning("%s; the run waits for its parties %g s at most", reason, patience)

    def reasons(self) -> list[str]:
        """Return one sentence for each party that is absent now."""
        return [reason for _, reason in self._late()]

    def _late(self) -> list[tuple[Session, str]]:
        """Return the sessions that nobody has joined, and why that may be."""
        before = time.monotonic() - NOTICE
        invited = list(self._invited.values())
        here = {self._known.get(s.node) for s, _ in invited if s.alive and s.peer}
        late = [s for s, since in invited if s.alive and not s.peer and since <= before]
        named = [(each, self._name(each, here)) for each in late]
        return [(each, _reason(each.node, name)) for each, name in named if name]

    def _name(self, session: Session, here: set[str | None]) -> str:
        """Name the party of a node, as far as it is known."""
        if name := self._known.get(session.node):
            return name
        absent = [name for name in self._names if name not in here]
        return " or ".join(absent)


def _reason(node: int, name: str) -> str:
    return (
        f"no ClientApp of {name} (node {node}) came within {NOTICE:g} s of its invitation, though "
        "its SuperNode is online: it may be in another run, or its SuperExec has ended; then "
        "restart that SuperNode"
    )
