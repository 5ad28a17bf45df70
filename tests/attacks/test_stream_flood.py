"""Strangers and parties that flood the active party's end of the stream."""

import os
import re
import resource
import socket
import ssl
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import grpc
import pytest

from tests.helpers.connections.streams import RUN
from vfl_flower.common.errors import ConfigError, StreamError
from vfl_flower.crypto.tls_certificate import NAME, make_certificate
from vfl_flower.transport.stream import client, frames, limits, server
from vfl_flower.transport.stream.client import StreamClient
from vfl_flower.transport.stream.frames import Frame, Kind, decode_frame
from vfl_flower.transport.stream.invitation import Invitation
from vfl_flower.transport.stream.server import StreamServer
from vfl_flower.transport.stream.session import Session

PARTIES, FLOOD, DEADLINE = 2, 1100, 0.5


class Listening:
    """A stream server with short deadlines, and the sessions that were joined."""

    def __init__(self) -> None:
        self.joined: list[Session] = []
        told = self.joined.append, lambda session: None
        self.server = StreamServer("127.0.0.1:0", "", RUN, PARTIES, 10.0, 600.0, *told)
        host, _, port = self.server.address.rpartition(":")
        self.place = host, int(port)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[Listening]:
    monkeypatch.setattr(limits, "DEADLINE", DEADLINE)
    made = Listening()
    yield made
    made.server.close()


@pytest.fixture
def crowd(here: Listening) -> Iterator[Callable[[], int]]:
    """Return a function that opens idle connections, and counts those opened."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4 * FLOOD:
        pytest.skip("this machine lets no process open so many connections")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4 * FLOOD), hard))
    with ExitStack() as stack:

        def flood() -> int:
            opened = 0
            for _ in range(FLOOD):
                with suppress(OSError):
                    stack.enter_context(socket.create_connection(here.place, timeout=2))
                    opened += 1
            return opened

        yield flood
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def descriptors() -> int:
    """Count the descriptors that this process, client and server, has open."""
    return len([*Path("/proc/self/fd").iterdir()])


def wait_until(reached: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def dial(invitation: Invitation, **compression: Any) -> tuple[Any, "SimpleQueue[bytes | None]"]:
    """Join with a client of one's own making, without this package's limits."""
    credentials = grpc.ssl_channel_credentials(invitation.certificate)
    options = (("grpc.ssl_target_name_override", NAME), ("grpc.max_send_message_length", -1))
    channel = grpc.secure_channel(invitation.address, credentials, options)
    metadata = (
        (frames.VERSION_KEY, "1"),
        (frames.RUN_KEY, str(invitation.run)),
        (frames.NODE_KEY, str(invitation.node)),
        (frames.TOKEN_KEY, invitation.token),
        (frames.SECRET_KEY, os.urandom(32)),
    )
    out: SimpleQueue[bytes | None] = SimpleQueue()
    join = channel.stream_stream(f"/{frames.SERVICE}/{frames.METHOD}")
    stream = join(
        iter(out.get, None), metadata=metadata, timeout=60, wait_for_ready=True, **compression
    )
    return stream, out


@pytest.mark.slow
def test_idle_connections_are_bounded_and_dropped(crowd: Callable[[], int]) -> None:
    """Without limits, 1,100 use up the usual 1,024 descriptors."""
    before = descriptors()
    assert crowd() == FLOOD
    taken = descriptors() - before - FLOOD  # the rest are the server's
    passing = 32  # those that are just turned away, and what gRPC has for itself
    assert 0 < taken <= limits.streams_of(PARTIES) + limits.JOINING + passing
    wait_until(lambda: descriptors() <= before + FLOOD)


@pytest.mark.slow
def test_a_party_joins_in_spite_of_a_flood(here: Listening, crowd: Callable[[], int]) -> None:
    crowd()
    invitation, session = here.server.invite(1)
    stream, out = dial(invitation)
    assert decode_frame(next(stream)).kind == Kind.WELCOME
    assert here.joined == [session]
    out.put(None)


@pytest.mark.slow
def test_a_party_that_has_joined_is_not_disturbed(
    here: Listening, crowd: Callable[[], int]
) -> None:
    """It may be silent for longer than a stranger may."""
    invitation, session = here.server.invite(1)
    stream, out = dial(invitation)
    assert decode_frame(next(stream)).kind == Kind.WELCOME
    crowd()
    time.sleep(2 * DEADLINE)
    out.put(Frame(Kind.REPLY, 1, {"fine": True}, []).encode())
    assert session.call(Kind.ROLL_CALL, {}, []).record == {"fine": True}
    assert session.reconnects == 0


def test_a_stranger_that_stops_after_the_handshake_is_dropped(here: Listening) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    plain = socket.create_connection(here.place, timeout=5)
    with plain, context.wrap_socket(plain) as encrypted:
        encrypted.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, *[0] * 5]))
        received = b""
        while piece := encrypted.recv(1 << 12):  # a goodbye, and the end
            received += piece
    assert received


@pytest.mark.slow
def test_a_stranger_that_calls_again_and_again_is_dropped(
    here: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that has joined outlives the age at which others are closed."""
    monkeypatch.setattr(limits, "LIVES", 1)
    peers, admit = list[str](), StreamServer._admit

    def noted(self: StreamServer, context: grpc.ServicerContext) -> Session:
        peers.append(context.peer())
        return admit(self, context)

    monkeypatch.setattr(StreamServer, "_admit", noted)
    aging = Listening()
    invitation, session = aging.server.invite(1)
    stream, out = dial(invitation)
    assert decode_frame(next(stream)).kind == Kind.WELCOME
    credentials = grpc.ssl_channel_credentials(invitation.certificate)
    options = (("grpc.ssl_target_name_override", NAME), ("grpc.use_local_subchannel_pool", 1))
    channel = grpc.secure_channel(invitation.address, credentials, options)
    for _ in range(15):
        call = channel.stream_stream(f"/{frames.SERVICE}/{frames.METHOD}")(iter(()))
        assert call.code() == grpc.StatusCode.FAILED_PRECONDITION
        time.sleep(0.1)
    assert len(set(peers[1:])) > 1  # its first connection was closed
    out.put(Frame(Kind.REPLY, 1, {"fine": True}, []).encode())
    assert session.call(Kind.ROLL_CALL, {}, []).record == {"fine": True}
    assert session.reconnects == 0
    channel.close()
    aging.server.close()


def test_few_descriptors_are_refused_before_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections could otherwise take those that checkpoints need."""
    changed: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "setrlimit", lambda what, both: changed.append(both))
    monkeypatch.setattr(resource, "getrlimit", lambda what: (256, 4096))
    limits.reserve_descriptors(PARTIES)
    needed = limits.streams_of(PARTIES) + limits.JOINING + limits.RESERVE
    assert changed == [(needed, 4096)]
    monkeypatch.setattr(resource, "getrlimit", lambda what: (256, 512))
    with pytest.raises(ConfigError, match=f"512 files at most, and the stream needs {needed}"):
        StreamServer("127.0.0.1:0", "", RUN, PARTIES, 1.0, 1.0, lambda s: None, lambda s: None)
    assert len(changed) == 1


def test_a_compressed_message_is_refused_before_it_is_expanded(
    here: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """32 MiB of zeros travel as 32 KiB."""
    read: list[int] = []
    monkeypatch.setattr(server, "decode_frame", lambda content: read.append(len(content)))
    bomb = bytes(32 << 20)
    assert len(zlib.compress(bomb)) < 1 << 16
    invitation, session = here.server.invite(1)
    stream, out = dial(invitation, compression=grpc.Compression.Gzip)
    out.put(Frame(Kind.REPLY, 1, {}, [bomb]).encode())
    with pytest.raises(grpc.RpcError) as refused:
        next(stream)
    assert refused.value.code() == grpc.StatusCode.UNIMPLEMENTED
    assert session.alive
    assert not read


def test_a_passive_party_takes_no_compressed_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """An active party that deviates could send a bomb just as well."""
    read: list[int] = []
    monkeypatch.setattr(client, "decode_frame", lambda content: read.append(len(content)))

    def join(requests: Any, context: grpc.ServicerContext) -> Iterator[bytes]:
        yield Frame(Kind.WELCOME, 0, {}, [bytes(32 << 20)]).encode()

    handler = grpc.stream_stream_rpc_method_handler(join)
    key, certificate = make_certificate()
    sender = grpc.server(
        ThreadPoolExecutor(2),
        handlers=[grpc.method_handlers_generic_handler(frames.SERVICE, {frames.METHOD: handler})],
        options=(("grpc.max_send_message_length", -1),),
        compression=grpc.Compression.Gzip,
    )
    port = sender.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(key, certificate)]))
    sender.start()
    invitation = Invitation(f"127.0.0.1:{port}", certificate, RUN, 1, bytes(32), grace=0.1)
    party: Any = None
    with pytest.raises(StreamError, match=r"disabled|nsupported"):
        StreamClient(invitation, party).serve()
    sender.stop(0)
    assert not read


@pytest.mark.parametrize("unit", ["superlink.service", "supernode@.service"])
def test_units_and_compose_allow_enough_files(unit: str) -> None:
    deploy = Path(__file__).resolve().parents[2] / "deploy"
    most = limits.streams_of(100) + limits.JOINING + limits.RESERVE
    (limit,) = re.findall(
        r"^LimitNOFILE=(\d+)$", (deploy / f"systemd/vfl-flower-{unit}").read_text(), re.MULTILINE
    )
    (container,) = re.findall(r"^    nofile: (\d+)$", (deploy / "compose.yaml").read_text(), re.M)
    assert min(int(limit), int(container)) >= most
