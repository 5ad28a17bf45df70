"""Gate before all requests: token, and size of the body."""

import asyncio
from collections.abc import Callable
from http import HTTPStatus

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vfl_flower.serving.http.connections import PATIENCE
from vfl_flower.serving.http.secrets import Token

OPEN = frozenset(("/health", "/ready", "/", "/openapi.json"))
"""Paths that need no token, none of which tells of data."""

LONGEST_BODY = 1 << 22
"""Bytes of a request."""

_REFUSALS = {
    HTTPStatus.UNAUTHORIZED: "a bearer token is needed, and none or another was sent",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: f"a request has at most {LONGEST_BODY:,} bytes",
    HTTPStatus.REQUEST_TIMEOUT: f"the request's body did not come within {PATIENCE:g} s",
}


class Gate:
    """ASGI application that lets no request in without the token.

    It stands before the application, which reads a body before it looks at anything else. Of
    callers without the token it reads no body and keeps no connection.

    Parameters
    ----------
    app : ASGI application
    token : callable
        Returns the token of now.
    hear : callable
        Hears the status of each request that is turned away.
    """

    def __init__(
        self, app: ASGIApp, token: Callable[[], Token], hear: Callable[[int], None]
    ) -> None:
        self._app, self._token, self._hear = app, token, hear

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or turn it away."""
        if scope["type"] != "http":
            return
        if self._admitted(scope):
            await self._pass(scope, receive, send)
        elif scope["path"] in OPEN:
            await self._app(scope, _again(b"", receive), _closing(send))
        else:
            await self._refuse(HTTPStatus.UNAUTHORIZED, scope, receive, send)

    def _admitted(self, scope: Scope) -> bool:
        sent = [value for name, value in scope["headers"] if name == b"authorization"]
        return self._token().opens(sent[0] if len(sent) == 1 else b"")

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read a caller's body, and let the application answer."""
        try:
            body = await asyncio.wait_for(_body(receive), PATIENCE)
        except TimeoutError:
            await self._refuse(HTTPStatus.REQUEST_TIMEOUT, scope, receive, send)
        except OverflowError:
            await self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, scope, receive, send)
        else:
            if body is not None:
                await self._app(scope, _again(body, receive), send)

    async def _refuse(self, status: HTTPStatus, scope: Scope, receive: Receive, send: Send) -> None:
        self._hear(status)
        needs = {"WWW-Authenticate": "Bearer"} if status == HTTPStatus.UNAUTHORIZED else None
        refused = JSONResponse({"detail": _REFUSALS[status]}, status, needs)
        await refused(scope, receive, _closing(send))


async def _body(receive: Receive) -> bytes | None:
    """Read a request's body; None if its caller has gone.

    Raises
    ------
    OverflowError
        If it is too long.
    """
    parts, length = list[bytes](), 0
    while (message := await receive())["type"] == "http.request":
        parts.append(message.get("body", b""))
        length += len(parts[-1])
        if length > LONGEST_BODY:
            raise OverflowError
        if not message.get("more_body", False):
            return b"".join(parts)
    return None


def _again(body: bytes, receive: Receive) -> Receive:
    """Receive a body that was read, and then whatever comes after it."""
    first = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return first.pop() if first else await receive()

    return received


def _closing(send: Send) -> Send:
    """Send an answer that ends its connection."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [*message.get("headers", ()), (b"connection", b"close")]
            message = {**message, "headers": headers}
        await send(message)

    return sent
