"""Ports that a deployment on one machine chooses."""

import socket
from pathlib import Path

import pytest

from deploy.ports import free_port, listens

OUTGOING = Path("/proc/sys/net/ipv4/ip_local_port_range")


def test_a_free_port_is_none_that_an_outgoing_connection_takes() -> None:
    """Between the choice and the use, another process may connect."""
    first = int(OUTGOING.read_text().split()[0]) if OUTGOING.exists() else 32_768
    assert all(free_port() < first for _ in range(100))


def test_a_port_that_somebody_has_is_not_free(monkeypatch: pytest.MonkeyPatch) -> None:
    taken, other = free_port(), free_port()
    monkeypatch.setattr("deploy.ports.CHOSEN", [taken, other])
    with socket.create_server(("127.0.0.1", taken)):
        assert listens(taken)
        assert {free_port() for _ in range(20)} == {other}
    assert not listens(taken)
