"""Stream server: TLS endpoint of a run, for invited parties only."""

import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Lock, Thread
from typing import NoReturn

import grpc

from vfl_flower.common.errors import ConfigError, ProtocolError
from vfl_flower.common.text.logs import safe_log
from vfl_flower.crypto.tls_certificate import make_certificate
from vfl_flower.transport.stream.frames import (
    LARGEST,
    METHOD,
    NODE_KEY,
    RANK_KEY,
    RUN_KEY,
    SECRET_KEY,
    SERVICE,
    TOKEN_KEY,
    VERSION,
    VERSION_KEY,
    FrameEncoder,
    decode_frame,
)
from vfl_flower.transport.stream.invitation import TOKEN_BYTES, Invitation
from vfl_flower.transport.stream.limits import (
    REFUSE_COMPRESSED,
    reserve_descriptors,
    server_options,
    streams_of,
)
from vfl_flower.transport.stream.session import Connection, Session

log = safe_log("vfl_flower.transport.stream")


OPTIONS = (
    ("grpc.max_receive_message_length", LARGEST),
    ("grpc.max_send_message_length", LARGEST),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    ("grpc.so_reuseport", 0),
    *REFUSE_COMPRESSED,
)
"""Both ends: no compression, since masked data does not compress; pings through idle NATs."""


_EVERYWHERE = ("0.0.0.0", "[::]")  # noqa: S104


class StreamServer:
    """The active party's gRPC endpoint.

    Parameters
    ----------
    listen : str
        Address and port; port 0 takes a free one.
    advertise : str
        Address that parties dial; empty: the one listened on.
    run : int
        Flower's run id.
    parties : int
        Number of passive parties.
    grace : float
        Seconds that a party may be without a connection.
    patience : float
        Seconds that an answer may take.
    on_join, on_end : callable
        Called when a session is joined, and when it ends.
    stopped : callable
        Tells whether the run was stopped.

    Raises
    ------
    ConfigError
        If the address cannot be listened on, or this process may open too few files.
    """

    def __init__(
        self,
        listen: str,
        advertise: str,
        run: int,
        parties: int,
        grace: float,
        patience: float,
        on_join: Callable[[Session], None],
        on_end: Callable[[Session], None],
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self.run, self.grace, self.patience = run, grace, patience
        self._told = on_join, on_end, stopped
        self._encode = FrameEncoder().encode
        self._sessions: dict[int, Session] = {}
        self._lock = Lock()
        self._refused = 0
        key, self.certificate = make_certificate()
        reserve_descriptors(parties)
        streams = streams_of(parties)  # more at once are turned away: a flood starves nobody
        self._grpc = grpc.server(
            ThreadPoolExecutor(streams),
            handlers=[self._handler()],
            options=(*OPTIONS, *server_options(parties)),
            maximum_concurrent_rpcs=streams,
        )
        if not advertise and _host(listen) in _EVERYWHERE:
            raise ConfigError(
                f"stream-listen is {listen}, every address of this machine: say with "
                "stream-advertise which of them the parties are to dial"
            )
        port = self._listen(listen, key)
        self.address = advertise or f"{_host(listen)}:{port}"
        self._grpc.start()

    def _listen(self, address: str, key: bytes) -> int:
        """Listen with TLS, and return the port."""
        credentials = grpc.ssl_server_credentials([(key, self.certificate)])
        try:
            return int(self._grpc.add_secure_port(address, credentials))
        except RuntimeError as error:
            raise ConfigError(f"stream-listen: {address} cannot be listened on") from error

    def _handler(self) -> grpc.GenericRpcHandler:
        join = grpc.stream_stream_rpc_method_handler(self._join)
        return grpc.method_handlers_generic_handler(SERVICE, {METHOD: join})

    def invite(self, node: int) -> tuple[Invitation, Session]:
        """Open a session for a node, and end its earlier one."""
        token = secrets.token_bytes(TOKEN_BYTES)
        session = Session(node, token, self.grace, self.patience, *self._told, self._encode)
        with self._lock:
            earlier, self._sessions[node] = self._sessions.get(node), session
        if earlier:
            earlier.fail(ProtocolError("another session of the same node took its place"))
        invitation = Invitation(self.address, self.certificate, self.run, node, token, self.grace)
        return invitation, session

    def close(self) -> None:
        """End all sessions, and stop listening once the parties have heard it."""
        for session in self._sessions.values():
            session.end()
        self._grpc.stop(grace=2).wait()

    def _join(self, frames: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        """Serve one connection."""
        session = self._admit(context)
        connection = Connection(context.peer(), _rank(context))
        if not context.add_callback(connection.close):
            return  # it has gone already
        session.attach(connection)
        try:
            Thread(target=_read, args=(frames, session, connection), daemon=True).start()
            yield from connection.outgoing()
        finally:
            session.detach(connection)

    def _admit(self, context: grpc.ServicerContext) -> Session:
        """Find a caller's session, or refuse it before reading a frame."""
        sent = dict(context.invocation_metadata())
        if sent.get(VERSION_KEY) != str(VERSION):
            text = f"sessions of version {VERSION} are spoken here, not {sent.get(VERSION_KEY)}"
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, text)
        try:
            run, node = int(sent[RUN_KEY]), int(sent[NODE_KEY])
            token, secret = bytes(sent[TOKEN_KEY]), bytes(sent[SECRET_KEY])
        except (KeyError, ValueError, TypeError):
            self._refuse(context)
        with self._lock:
            session = self._sessions.get(node)
        good = run == self.run and len(secret) == TOKEN_BYTES and session is not None
        if not good or session is None or not session.admits(token, secret):
            self._refuse(context)
        return session

    def _refuse(self, context: grpc.ServicerContext) -> NoReturn:
        """Refuse a caller without naming the wrong credential."""
        self._refused += 1
        if self._refused in (1, 10, 100) or self._refused % 1000 == 0:
            log.warning("%d joins refused so far, the last from %s", self._refused, context.peer())
        context.abort(grpc.StatusCode.UNAUTHENTICATED, "this run has no session for you")
        raise AssertionError  # abort has raised


def _rank(context: grpc.ServicerContext) -> int:
    """Read a caller's rank, for messages only; 0 without one."""
    text = str(dict(context.invocation_metadata()).get(RANK_KEY, ""))
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else 0


def _host(address: str) -> str:
    """Return the host of an address with a port."""
    return address.rpartition(":")[0]


def _read(frames: Iterator[bytes], session: Session, connection: Connection) -> None:
    """Pass a party's frames to its session until the connection ends."""
    try:
        for content in frames:
            session.receive(decode_frame(content), connection)
    except ProtocolError as error:
        session.fail(error)
    except Exception as error:  # the connection broke; gRPC has a class for every way
        log.debug("the connection of node %d broke: %s", session.node, type(error).__name__)
    finally:
        connection.close()
