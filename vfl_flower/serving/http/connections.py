"""HTTP connections of a service: few at once, none silent."""

from asyncio import BaseTransport, Transport
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST = 256
"""Connections at once; more are closed when they come, and those that are there stay."""

PATIENCE = 10.0
"""Seconds for the headers of a connection's first request, and again for a body."""

LONGEST_HEAD = 1 << 16
"""Bytes of the first request's headers, as far as they come in several pieces."""


class Connection(HttpToolsProtocol):
    """HTTP connection that is closed unless a request's headers come soon.

    uvicorn waits for them for ever, and keeps as many as come. Only a connection's first request is
    limited: the gate lets nobody without the token keep a connection.
    """

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401  uvicorn's own
        super().__init__(*args, **options)
        self._head = 0

    def connection_made(self, transport: BaseTransport) -> None:
        """Take a connection, or close it if there are too many."""
        made = cast("Transport", transport)
        super().connection_made(made)
        if len(self.connections) > MOST:
            made.abort()
        else:
            self.loop.call_later(PATIENCE, self._close_silent)

    def data_received(self, data: bytes) -> None:
        """Take a piece of a request; abort endless headers."""
        if self.cycle is None and self._head > LONGEST_HEAD:
            self.transport.abort()
            return
        self._head += len(data)
        super().data_received(data)

    def _close_silent(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.close()
