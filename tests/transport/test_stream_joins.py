"""Who may join a session: whoever was invited, once, and nobody else."""

import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from queue import SimpleQueue
from typing import Any

import grpc
import pytest
from flwr.common import FitIns, Parameters

from tests.helpers.connections.streams import RUN
from vfl_flower.common.errors import ConfigError, PartyAway, ProtocolError, StreamError
from vfl_flower.crypto.tls_certificate import NAME, make_certificate
from vfl_flower.transport.stream import frames, server
from vfl_flower.transport.stream.client import StreamClient
from vfl_flower.transport.stream.frames import LARGEST, Frame, Kind, decode_frame
from vfl_flower.transport.stream.invitation import Invitation
from vfl_flower.transport.stream.proxy import StreamProxy
from vfl_flower.transport.stream.server import StreamServer
from vfl_flower.transport.stream.session import Connection, Session

GRACE, PATIENCE = 2.0, 600.0


class Listening:
    """A stream server, and its notifications."""

    def __init__(self) -> None:
        self.joined: list[Session] = []
        self.ended: list[Session] = []
        told = self.joined.append, self.ended.append
        self.server = StreamServer("127.0.0.1:0", "", RUN, 2, GRACE, PATIENCE, *told)


@pytest.fixture
def here() -> Iterator[Listening]:
    made = Listening()
    yield made
    made.server.close()


class Caller:
    """A client that dials in and sends given data."""

    def __init__(self, invitation: Invitation, **said: Any) -> None:
        credentials = grpc.ssl_channel_credentials(invitation.certificate)
        options = (*server.OPTIONS, ("grpc.ssl_target_name_override", NAME))
        self.channel = grpc.secure_channel(invitation.address, credentials, options)
        metadata = {
            frames.VERSION_KEY: "1",
            frames.RUN_KEY: str(invitation.run),
            frames.NODE_KEY: str(invitation.node),
            frames.TOKEN_KEY: invitation.token,
            frames.SECRET_KEY: os.urandom(32),
        }
        metadata |= {getattr(frames, f"{key.upper()}_KEY"): value for key, value in said.items()}
        self.secret = metadata[frames.SECRET_KEY]
        self.out: SimpleQueue[bytes | None] = SimpleQueue()
        join = self.channel.stream_stream(f"/{frames.SERVICE}/{frames.METHOD}")
        given = [(key, value) for key, value in metadata.items() if value is not None]
        self.stream = join(iter(self.out.get, None), metadata=given, timeout=60)

    def refused(self) -> str:
        """Return the code with which the call ended."""
        with pytest.raises(grpc.RpcError) as caught:
            next(self.stream)
        self.channel.close()
        return str(caught.value.code().name)

    def inside(self) -> None:
        """Wait until the call was let in."""
        assert decode_frame(next(self.stream)).kind == Kind.WELCOME

    def leave(self) -> None:
        self.out.put(None)
        self.stream.cancel()
        self.channel.close()


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"token": None}, "UNAUTHENTICATED"),
        ({"token": b""}, "UNAUTHENTICATED"),
        ({"token": os.urandom(32)}, "UNAUTHENTICATED"),
        ({"secret": None}, "UNAUTHENTICATED"),
        ({"secret": b"short"}, "UNAUTHENTICATED"),
        ({"run": str(RUN + 1)}, "UNAUTHENTICATED"),
        ({"run": "x"}, "UNAUTHENTICATED"),
        ({"node": "2"}, "UNAUTHENTICATED"),
        ({"node": "99"}, "UNAUTHENTICATED"),
        ({"version": "2"}, "FAILED_PRECONDITION"),
        ({"version": None}, "FAILED_PRECONDITION"),
    ],
)
def test_who_was_not_invited_is_turned_away(
    here: Listening, said: dict[str, Any], code: str
) -> None:
    invitation, session = here.server.invite(1)
    here.server.invite(2)
    assert Caller(invitation, **said).refused() == code
    assert here.joined == []
    assert session.alive
    Caller(invitation).inside()  # the token is as good as before
    assert here.joined == [session]


def test_a_token_is_good_once_and_the_secret_after_it(here: Listening) -> None:
    invitation, session = here.server.invite(1)
    first = Caller(invitation)
    first.inside()
    assert Caller(invitation).refused() == "UNAUTHENTICATED"
    first.leave()
    again = Caller(invitation, secret=first.secret)
    again.inside()
    assert here.joined == [session]
    assert session.reconnects == 1
    again.leave()


def test_a_token_of_another_run_or_server_is_worth_nothing(here: Listening) -> None:
    other = Listening()
    foreign, _ = other.server.invite(1)
    ours, _ = here.server.invite(1)
    assert Caller(ours, token=foreign.token).refused() == "UNAUTHENTICATED"
    other.server.close()


def test_a_node_that_is_invited_again_has_one_session(here: Listening) -> None:
    invitation, session = here.server.invite(1)
    old = Caller(invitation)
    old.inside()
    newer, _ = here.server.invite(1)
    assert not session.alive
    assert Caller(invitation, secret=old.secret).refused() == "UNAUTHENTICATED"
    with pytest.raises(ProtocolError, match="another session"):
        session.call(Kind.EXCHANGE, {}, [])
    Caller(newer).inside()


def test_a_wrong_certificate_is_not_dialled(here: Listening) -> None:
    """An interceptor lacks the pinned certificate's key, and gets no token."""
    invitation, _ = here.server.invite(1)
    _, other = make_certificate()
    client: Any = None
    with pytest.raises(StreamError, match=r"not heard for more than 0\.5 s: UNAVAILABLE"):
        StreamClient(replace(invitation, certificate=other, grace=0.5), client).serve()
    assert here.joined == []


def test_a_flood_of_joins_starves_nobody(here: Listening) -> None:
    invitation, session = here.server.invite(1)
    good = Caller(invitation)
    good.inside()
    callers = [Caller(invitation, token=os.urandom(32)) for _ in range(200)]
    codes = {caller.refused() for caller in callers}
    assert codes <= {"UNAUTHENTICATED", "RESOURCE_EXHAUSTED"}
    good.out.put(Frame(Kind.REPLY, 1, {"fine": True}, []).encode())
    assert session.call(Kind.ROLL_CALL, {}, []).record == {"fine": True}


def test_an_answer_to_no_question_ends_the_session(here: Listening) -> None:
    invitation, session = here.server.invite(1)
    caller = Caller(invitation)
    caller.out.put(Frame(Kind.REPLY, 1, {}, []).encode())
    caller.inside()
    deadline = time.monotonic() + 60
    while session.alive and time.monotonic() < deadline:
        time.sleep(0.01)
    assert here.ended == [session]
    with pytest.raises(ProtocolError, match="was not asked"):
        session.call(Kind.EXCHANGE, {}, [])


def test_a_reply_that_comes_twice_counts_once(here: Listening) -> None:
    invitation, session = here.server.invite(1)
    caller = Caller(invitation)
    caller.inside()

    def answer(times: int) -> None:
        frame = decode_frame(next(caller.stream))
        for _ in range(times):
            caller.out.put(Frame(Kind.REPLY, frame.sequence, {"n": frame.sequence}, []).encode())

    for number in (1, 2, 3):
        threading.Thread(target=answer, args=(number,), daemon=True).start()
        assert session.call(Kind.EXCHANGE, {}, []).record == {"n": number}


def test_all_parties_are_asked_before_one_is_waited_for(here: Listening) -> None:
    """A failed request fails alone, and the next one goes out."""
    callers, proxies = [], []
    for node in (1, 2):
        invitation, session = here.server.invite(node)
        callers.append(Caller(invitation))
        callers[-1].inside()
        proxies.append(StreamProxy(session))

    def asked(size: int) -> FitIns:
        return FitIns(Parameters([bytes(size)], "numpy.ndarray"), {"n": size})

    first, second = proxies[0].begin(asked(1)), proxies[1].begin(asked(LARGEST))
    assert second.wait(0)
    assert not first.wait(0)
    with pytest.raises(ProtocolError, match="more than the 256 MiB"):
        second.result()
    second = proxies[1].begin(asked(2))
    for caller in reversed(callers):
        frame = decode_frame(next(caller.stream))
        caller.out.put(replace(frame, kind=Kind.REPLY).encode())
    assert [each.result().metrics["n"] for each in (first, second)] == [1, 2]


def test_garbage_ends_the_session(here: Listening) -> None:
    invitation, session = here.server.invite(1)
    caller = Caller(invitation)
    caller.inside()
    caller.out.put(b"garbage")
    with pytest.raises(ProtocolError, match="cannot be read"):
        session.call(Kind.EXCHANGE, {}, [])


@pytest.mark.slow
def test_a_message_beyond_the_limit_is_not_read(here: Listening) -> None:
    """The connection ends, the party comes back, and the session goes on."""
    invitation, session = here.server.invite(1)
    caller = Caller(invitation)
    caller.inside()
    caller.out.put(bytes(LARGEST + 1))
    assert caller.refused() in ("RESOURCE_EXHAUSTED", "CANCELLED", "UNKNOWN")
    assert session.alive
    with pytest.raises(PartyAway, match="lost for more than 2 s"):
        session.call(Kind.EXCHANGE, {}, [])


def test_an_address_that_is_taken_is_refused(here: Listening) -> None:
    with pytest.raises(ConfigError, match="cannot be listened on"):
        told = (lambda session: None,) * 2
        StreamServer(here.server.address, "", RUN, 2, GRACE, PATIENCE, *told)


def test_a_join_that_races_the_end_of_its_session_is_let_go(here: Listening) -> None:
    """An ended session takes no connection and reports no party."""
    invitation, session = here.server.invite(1)
    assert session.admits(invitation.token, os.urandom(32))
    session.fail(PartyAway("gone"))
    connection = Connection("somewhere")
    session.attach(connection)
    assert list(connection.outgoing()) == []
    assert here.joined == []


class Gone:
    """gRPC's context of a call that has ended."""

    def __init__(self, invitation: Invitation) -> None:
        self.invitation = invitation

    def invocation_metadata(self) -> list[tuple[str, str | bytes]]:
        return [
            (frames.VERSION_KEY, "1"),
            (frames.RUN_KEY, str(RUN)),
            (frames.NODE_KEY, str(self.invitation.node)),
            (frames.TOKEN_KEY, self.invitation.token),
            (frames.SECRET_KEY, os.urandom(32)),
        ]

    def peer(self) -> str:
        return "somewhere"

    def add_callback(self, callback: Any) -> bool:
        return False


def test_a_connection_that_is_gone_before_it_is_served_leaves_nothing(here: Listening) -> None:
    invitation, _ = here.server.invite(1)
    context: Any = Gone(invitation)
    assert list(here.server._join(iter(()), context)) == []
    assert here.joined == []
