"""Connections to a service that cost without asking anything."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.helpers.connections.services import PATIENCE, Caller, calling, service_of
from tests.helpers.outcomes.predictions import Finished
from vfl_flower.serving.http import connections, gate

SHORT = 1.0  # seconds in the place of those that a connection may take


@pytest.fixture
def caller(finished: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Caller]:
    for module in (connections, gate):
        monkeypatch.setattr(module, "PATIENCE", SHORT)
    with calling(service_of(finished("splitnn"), tmp_path)) as made:
        yield made


def connected(caller: Caller) -> socket.socket:
    address = urlsplit(caller.url)
    assert address.hostname
    assert address.port
    return socket.create_connection((address.hostname, address.port), timeout=PATIENCE)


def closed(stream: socket.socket) -> bool:
    """Tell whether the other end closes a connection."""
    try:
        return stream.recv(1) == b""
    except ConnectionError:
        return True


@pytest.mark.slow
@pytest.mark.parametrize("sent", [b"", b"POST /predict HTTP/1.1\r\nHost: a\r\nA: "])
def test_a_connection_without_a_whole_request_is_closed(sent: bytes, caller: Caller) -> None:
    with connected(caller) as stream:
        stream.sendall(sent)
        begun = time.monotonic()
        assert closed(stream)
        assert time.monotonic() - begun >= SHORT / 2
    assert len(caller.predictions([1])) == 1


def test_headers_without_end_are_not_kept(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections.Connection, "_close_silent", lambda self: None)
    with connected(caller) as stream, pytest.raises(ConnectionError):
        stream.sendall(b"GET /health HTTP/1.1\r\n")
        for _ in range(10_000):
            stream.sendall(b"A: " + b"a" * 10_000 + b"\r\n")
    assert len(caller.predictions([1])) == 1


def test_no_more_connections_than_so_many(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are there stay."""
    caller.predictions([1])
    monkeypatch.setattr(connections, "MOST", 1)
    with connected(caller) as stream:
        assert closed(stream)
    assert len(caller.predictions([2])) == 1


@pytest.mark.slow
def test_a_body_that_does_not_come_is_not_waited_for(caller: Caller) -> None:
    token = caller.http.headers["Authorization"]
    head = (
        f"POST /predict HTTP/1.1\r\nHost: a\r\nAuthorization: {token}\r\nContent-Length: 9\r\n\r\n"
    )
    with connected(caller) as stream:
        stream.sendall(head.encode())
        assert b" 408 " in stream.recv(100)
    assert caller.figure('vfl_requests_total{status="408"}') == 1


@pytest.mark.parametrize("path", ["/health", "/predict"])
def test_without_the_token_no_body_is_read_and_no_connection_kept(
    path: str, caller: Caller
) -> None:
    head = f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n"
    with connected(caller) as stream:
        stream.sendall(head.encode())
        answer = b""
        while piece := stream.recv(1000):
            answer += piece
    assert answer.split()[1] == (b"405" if path == "/health" else b"401")
    assert b"connection: close" in answer.lower()


def test_callers_that_are_turned_away_are_counted(caller: Caller) -> None:
    for _ in range(3):
        assert httpx.post(f"{caller.url}/predict", json={"ids": [1]}).status_code == 401
    assert caller.figure('vfl_requests_total{status="401"}') == 3
