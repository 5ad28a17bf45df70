"""HTTP server of a service, in one thread, with renewable secrets."""

import math
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Self

import uvicorn
from starlette.types import ASGIApp

from vfl_flower.common.errors import ConfigError
from vfl_flower.serving.http.connections import Connection
from vfl_flower.serving.http.gate import Gate
from vfl_flower.serving.http.secrets import Certificate, Token
from vfl_flower.serving.options import ServiceOptions


class Access:
    """Token and certificate of a service, read anew when their files change.

    Parameters
    ----------
    options : ServiceOptions
        Names the files.

    Raises
    ------
    ConfigError
        If a file cannot be used, or the certificate has expired.
    """

    def __init__(self, options: ServiceOptions) -> None:
        self._options = options
        self.certificate: Certificate | None = None
        self.context: ssl.SSLContext | None = None
        self.renew_token()
        self.renew_certificate()

    def renew_token(self) -> None:
        """Read the token anew; keep the former one on errors."""
        self.token = Token(Path(self._options.token))

    def renew_certificate(self) -> None:
        """Read certificate and key anew; keep the former ones on errors."""
        options = self._options
        if not options.certificate:
            return
        certificate = Certificate(Path(options.certificate), Path(options.key))
        certificate.load_into(_context())  # which a key that does not fit would spoil
        self.context = self.context or _context()
        certificate.load_into(self.context)
        self.certificate = certificate

    def fault(self) -> str:
        """Say that the certificate has expired, or nothing."""
        return self.certificate.fault if self.certificate else ""


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


class HttpServer:
    """Serves an application in a thread, while a ``with`` block lasts.

    Parameters
    ----------
    app : ASGI application
    access : Access
        Token and certificate.
    listening : socket
        Bound to its address; see `listening_at`.
    hear : callable
        Hears the status of each request that never reaches the application.
    grace : float
        Seconds in which requests are still answered after the end.

    Attributes
    ----------
    url : str
        Where it is reached.
    """

    def __init__(
        self,
        app: ASGIApp,
        access: Access,
        listening: socket.socket,
        hear: Callable[[int], None],
        grace: float,
    ) -> None:
        config = uvicorn.Config(
            Gate(app, lambda: access.token, hear),
            http=Connection,
            log_config=None,
            log_level="error",
            access_log=False,  # callers are none of a log's business
            lifespan="off",
            ws="none",
            server_header=False,
            timeout_graceful_shutdown=math.ceil(grace),
        )
        config.load()
        config.ssl = access.context
        self._server = uvicorn.Server(config)
        self._socket = listening
        scheme = "https" if access.context else "http"
        host, port, *_ = listening.getsockname()
        self.url = f"{scheme}://{_shown(host)}:{port}"
        self._thread = Thread(target=self._serve, name="http", daemon=True)

    def _serve(self) -> None:
        self._server.run(sockets=[self._socket])

    def __enter__(self) -> Self:
        """Begin to answer."""
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Answer no new connections, and end when all requests are answered."""
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()


def listening_at(address: tuple[str, int]) -> socket.socket:
    """Bind a socket; port 0 takes a free one.

    Raises
    ------
    ConfigError
        If the address cannot be listened at.
    """
    try:
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        return socket.create_server(address, family=family, backlog=1024)
    except OSError as error:
        host = f"{_shown(address[0])}:{address[1]}"
        raise ConfigError(f"listen: {host} cannot be listened at: {error.strerror}") from error


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host
