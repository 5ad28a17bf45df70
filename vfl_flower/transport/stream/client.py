"""Passive end of a session: dials out, answers once, and reconnects."""

import secrets
import time
from queue import SimpleQueue

import grpc
from flwr.client import Client
from flwr.common import FitIns, GetPropertiesIns

from vfl_flower.common.errors import ProtocolError, StreamError, printable
from vfl_flower.crypto.tls_certificate import NAME
from vfl_flower.transport.stream.frames import (
    METHOD,
    NODE_KEY,
    RANK_KEY,
    RUN_KEY,
    SECRET_KEY,
    SERVICE,
    TOKEN_KEY,
    VERSION,
    VERSION_KEY,
    Frame,
    Kind,
    decode_frame,
    parameters_of,
)
from vfl_flower.transport.stream.invitation import TOKEN_BYTES, Invitation
from vfl_flower.transport.stream.server import OPTIONS

_DIALLING = (
    ("grpc.initial_reconnect_backoff_ms", 500),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    ("grpc.min_reconnect_backoff_ms", 15_000),  # how long one attempt may take, in fact
)
_PAUSE = 0.5  # seconds between attempts to reconnect
_FINAL = (
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.UNIMPLEMENTED,
)
"""Status codes that are final; others may come from the network, and are tried again."""


class StreamClient:
    """Stream client: serves one session of a passive party.

    Parameters
    ----------
    invitation : Invitation
        From the message that opened the session.
    client : Client
        The party's endpoint.
    rank : int
        The party's, for messages about its connection; 0 says nothing.
    """

    def __init__(self, invitation: Invitation, client: Client, rank: int = 0) -> None:
        self.invitation, self.client, self.rank = invitation, client, rank
        self._secret = secrets.token_bytes(TOKEN_BYTES)
        self._answered, self._answer = 0, b""
        self._heard, self._trouble = time.monotonic(), ""

    def serve(self) -> None:
        """Answer until the active party ends the session.

        Raises
        ------
        StreamError
            If the active party cannot be reached, turns the party away, or is gone for longer than
            the grace time.
        ProtocolError
            If it sends a frame that has no place in a session.
        """
        credentials = grpc.ssl_channel_credentials(self.invitation.certificate)
        options = (*OPTIONS, *_DIALLING, ("grpc.ssl_target_name_override", NAME))
        with grpc.secure_channel(self.invitation.address, credentials, options) as channel:
            join = channel.stream_stream(f"/{SERVICE}/{METHOD}")
            while not self._connected(join):
                self._check_grace()
                time.sleep(_PAUSE)

    def _connected(self, join: grpc.StreamStreamMultiCallable) -> bool:
        """Serve over one connection; return whether the session is over."""
        out: SimpleQueue[bytes | None] = SimpleQueue()
        welcome = False
        stream = join(iter(out.get, None), metadata=self._metadata())
        try:
            for content in stream:
                frame = decode_frame(content)
                if frame.kind == Kind.END:
                    return True
                if frame.kind == Kind.WELCOME:
                    welcome = True
                else:
                    out.put(self._reply(frame))
        except grpc.RpcError as error:
            self._trouble = f"{error.code().name}, {printable(error.details())}"
            if error.code() in _FINAL:
                raise StreamError(
                    f"the active party at {self.invitation.address} refused: {self._trouble}"
                ) from error
        finally:
            if welcome:  # the grace time counts from the loss
                self._heard = time.monotonic()
            out.put(None)
            stream.cancel()
        return False

    def _check_grace(self) -> None:
        if time.monotonic() - self._heard > self.invitation.grace:
            raise StreamError(
                f"the active party at {self.invitation.address} was not heard for more than "
                f"{self.invitation.grace:g} s: {self._trouble or 'it hung up'}"
            )

    def _metadata(self) -> tuple[tuple[str, str | bytes], ...]:
        return (
            (VERSION_KEY, str(VERSION)),
            (RUN_KEY, str(self.invitation.run)),
            (NODE_KEY, str(self.invitation.node)),
            (RANK_KEY, str(self.rank)),
            (TOKEN_KEY, self.invitation.token),
            (SECRET_KEY, self._secret),
        )

    def _reply(self, frame: Frame) -> bytes:
        """Answer a request; a repeated one without computing again."""
        if frame.sequence == self._answered + 1:
            self._answer = self._compute(frame)
            self._answered = frame.sequence
        elif frame.sequence != self._answered:
            raise ProtocolError(
                f"request {frame.sequence} of the session came after {self._answered}"
            )
        return self._answer

    def _compute(self, frame: Frame) -> bytes:
        """Let the party answer."""
        return answer(self.client, frame)


def answer(client: Client, frame: Frame) -> bytes:
    """Let a party answer a request; return the reply's bytes.

    Raises
    ------
    ProtocolError
        If it is neither roll call nor exchange, or cannot be answered in a frame.
    """
    if frame.kind == Kind.ROLL_CALL:
        asked = client.get_properties(GetPropertiesIns(dict(frame.record)))
        return Frame(Kind.REPLY, frame.sequence, asked.properties, []).encode()
    if frame.kind != Kind.EXCHANGE:
        raise ProtocolError("a request came that is neither roll call nor exchange")
    res = client.fit(FitIns(parameters_of(frame), dict(frame.record)))
    return Frame(Kind.REPLY, frame.sequence, res.metrics, res.parameters.tensors).encode()
