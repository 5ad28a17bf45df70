"""Active end of one session: numbered requests, each answered exactly once."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from hmac import compare_digest
from queue import SimpleQueue
from threading import Condition, Lock

from flwr.common import Scalar

from vfl_flower.common.errors import PartyAway, ProtocolError
from vfl_flower.transport.stream.frames import Frame, Kind

LOOK = 0.5
"""Seconds between looks at whether the run was stopped."""

LEAVE = 5.0
"""Seconds that a stopped run waits for a connection that is lost."""


class Connection:
    """One gRPC stream of a session, for as long as it lasts.

    Parameters
    ----------
    peer : str
        The party's address as seen.
    rank : int
        The party's, as it says itself; 0 if it does not.
    """

    def __init__(self, peer: str, rank: int = 0) -> None:
        self.peer, self.rank = peer, rank
        self._out: SimpleQueue[bytes | None] = SimpleQueue()

    def send(self, content: bytes) -> None:
        """Queue a frame's bytes."""
        self._out.put(content)

    def close(self) -> None:
        """End the stream once the queue has been sent."""
        self._out.put(None)

    def outgoing(self) -> Iterator[bytes]:
        """Yield the frames for gRPC to send."""
        while (content := self._out.get()) is not None:
            yield content


class Session:
    """Session of one party, over any number of connections.

    Parameters
    ----------
    node : int
        The Flower node that was invited.
    token : bytes
        Secret that lets it join, once.
    grace : float
        Seconds without a connection after which the party counts as away.
    patience : float
        Seconds that an answer may take.
    on_join : callable
        Called when the party joins.
    on_end : callable
        Called when the session ends, whatever the reason.
    stopped : callable
        Tells whether the run was stopped.
    encode : callable
        Returns a frame's bytes.
    """

    def __init__(
        self,
        node: int,
        token: bytes,
        grace: float,
        patience: float,
        on_join: "Callable[[Session], None]",
        on_end: "Callable[[Session], None]",
        stopped: Callable[[], bool] = lambda: False,
        encode: Callable[[Frame], bytes] = Frame.encode,
    ) -> None:
        self.node, self.grace, self.patience = node, grace, patience
        self.peer, self.rank = "", 0
        self.reconnects = 0
        self._token = sha256(token).digest()
        self._secret: bytes | None = None
        self._on_join, self._on_end = on_join, on_end
        self._stopped, self._stop_seen = stopped, 0.0
        self._encode = encode
        self._turn, self._changed = Lock(), Condition()
        self._connection: Connection | None = None
        self._lost = time.monotonic()
        self._sequence = 0
        self._deadline = 0.0
        self._pending: bytes | None = None
        self._reply: Frame | None = None
        self._failure: Exception | None = None

    # The server's side -----------------------------------------------------------------------

    def admits(self, token: bytes, secret: bytes) -> bool:
        """Check a caller: once by token, then by its own secret."""
        with self._changed:
            if self._failure or not compare_digest(sha256(token).digest(), self._token):
                return False
            digest = sha256(secret).digest()
            if self._secret is None:
                self._secret = digest
            return compare_digest(digest, self._secret)

    def attach(self, connection: Connection) -> None:
        """Continue over a new connection, and repeat an open request."""
        with self._changed:
            if self._failure:
                connection.close()
                return
            first, earlier = not self.peer, self._connection
            if earlier:
                earlier.close()
            self.reconnects += not first
            self._connection, self.peer = connection, connection.peer
            self.rank = connection.rank
            connection.send(Frame(Kind.WELCOME, self._sequence, {}, []).encode())
            if self._pending is not None:
                connection.send(self._pending)
            if first:
                self._on_join(self)

    def detach(self, connection: Connection) -> None:
        """Note that a connection is lost."""
        with self._changed:
            if self._connection is connection:
                self._connection, self._lost = None, time.monotonic()
                self._changed.notify_all()

    def receive(self, frame: Frame, connection: Connection) -> None:
        """Take a reply; ignore one that came over an earlier connection."""
        with self._changed:
            if connection is not self._connection or frame.sequence < self._sequence:
                return
            if frame.kind != Kind.REPLY or frame.sequence > self._sequence:
                self._fail(ProtocolError("it answered what it was not asked"))
            elif self._pending is not None:
                self._pending, self._reply = None, frame
            self._changed.notify_all()

    def fail(self, reason: Exception) -> None:
        """End the session, and raise the reason in whoever waits."""
        with self._changed:
            self._fail(reason)

    def _fail(self, reason: Exception) -> None:
        if self._failure is None:
            self._failure = reason
            if self._connection:
                self._connection.close()
            self._changed.notify_all()
            self._on_end(self)

    # The proxy's side ------------------------------------------------------------------------

    @property
    def alive(self) -> bool:
        """Whether the session has not ended."""
        return self._failure is None

    def call(self, kind: Kind, record: Mapping[str, Scalar], tensors: Sequence[bytes]) -> Frame:
        """Send a request and wait for its answer; see `send` and `answer`."""
        self.send(kind, record, tensors)
        return self.answer()

    def send(self, kind: Kind, record: Mapping[str, Scalar], tensors: Sequence[bytes]) -> None:
        """Send a request whose `answer` is waited for later.

        Raises
        ------
        ProtocolError
            If it is too large; nothing was sent.
        """
        self._turn.acquire()
        try:
            with self._changed:
                content = self._encode(Frame(kind, self._sequence + 1, record, tensors))
                self._sequence += 1
                self._pending, self._reply = content, None
                self._deadline = time.monotonic() + self.patience
                if self._connection:
                    self._connection.send(content)
        except BaseException:
            self._turn.release()
            raise

    def answered(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds; tell whether `answer` is ready."""
        until = time.monotonic() + timeout
        with self._changed:
            while self._reply is None and self._failure is None:
                left = until - time.monotonic()
                self._wait(min(max(left, 0.0), LOOK))
                if left <= 0:
                    break
            return self._reply is not None or self._failure is not None

    def answer(self) -> Frame:
        """Wait for the answer, through lost connections.

        Raises
        ------
        PartyAway
            If the party is without a connection for longer than the grace time, or the run was
            stopped and it does not answer soon.
        ProtocolError
            If it sends a frame that has no place in a session.
        """
        try:
            with self._changed:
                while self._reply is None:
                    if self._failure:
                        raise self._failure
                    self._wait(LOOK)
                return self._reply
        finally:
            self._turn.release()

    def _wait(self, longest: float) -> None:
        """End the session when overdue, or wait for a change."""
        now, lost, deadline = time.monotonic(), self._lost + self.grace, self._deadline
        why = f"it did not answer for more than {self.patience:g} s"
        if self._stopped():  # a party that computes may end the step in hand
            self._stop_seen = self._stop_seen or now
            late = self._stop_seen + (self.grace if self._connection else min(LEAVE, self.grace))
            if late < deadline:
                deadline, why = late, "the run was stopped, and it did not answer in time"
        if now >= deadline:
            self._fail(PartyAway(why))
        elif self._connection:
            self._changed.wait(min(deadline - now, longest))
        elif now >= lost:
            self._fail(PartyAway(f"its connection was lost for more than {self.grace:g} s"))
        else:
            self._changed.wait(min(lost - now, deadline - now, longest))

    def end(self) -> None:
        """Send the run's end to the party, and end the session."""
        with self._changed:
            if self._connection and self._failure is None:
                self._connection.send(Frame(Kind.END, self._sequence + 1, {}, []).encode())
            self._fail(PartyAway("the run is over"))
