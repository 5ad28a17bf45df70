"""Ports of loopback."""

import secrets
import socket

CHOSEN = range(20_000, 32_000)
"""Below those that systems take for outgoing connections."""


def free_port() -> int:
    """Return a port of loopback that nobody uses at the moment.

    One that the system chooses may be an outgoing connection's a moment later.
    """
    while True:
        port = secrets.choice(CHOSEN)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:  # taken
                continue
            return port


def listens(port: int) -> bool:
    """Tell whether somebody listens on a port of loopback."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
