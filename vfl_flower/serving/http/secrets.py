"""Token and certificate of a service, from files of its owner's."""

import os
import ssl
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path

from cryptography import x509

from vfl_flower.common.errors import ConfigError
from vfl_flower.common.files import read_small

LEAST_TOKEN = 32
"""Characters of a token; a hexadecimal one of so many has 128 bits."""

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def _private(path: Path, name: str) -> bytes:
    """Read a file that its owner alone may read."""
    try:
        content, about = read_small(path)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{name} {path} cannot be read: {_why(error)}") from error
    if about.st_uid != os.geteuid():
        raise ConfigError(f"{name} {path} belongs to another user; chown it")
    if about.st_mode & _OTHERS:
        raise ConfigError(f"{name} {path} may be read or written by others; chmod 600 it")
    return content


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


class Token:
    """Bearer token of a service, known by its digest alone.

    Parameters
    ----------
    path : Path
        File of mode 0600; space around the token does not count.

    Raises
    ------
    ConfigError
        If it cannot be read, others may read it, or it is too short.
    """

    def __init__(self, path: Path) -> None:
        content = _private(path, "token").strip()
        if len(content) < LEAST_TOKEN or not content.isascii() or b" " in content:
            raise ConfigError(
                f"token {path} must hold one word of at least {LEAST_TOKEN} ASCII characters, such "
                "as openssl rand -hex 32 prints"
            )
        self._digest = sha256(content).digest()

    def opens(self, header: bytes) -> bool:
        """Compare an Authorization header with the token, in constant time."""
        scheme, _, sent = header.partition(b" ")
        same = compare_digest(sha256(sent.strip()).digest(), self._digest)
        return same and scheme.lower() == b"bearer"


class Certificate:
    """TLS certificate of a service, with its key.

    Parameters
    ----------
    certificate, key : Path
        PEM; the key's file has mode 0600.
    now : callable
        The time, with its zone.

    Attributes
    ----------
    ends : datetime
        When the certificate expires.

    Raises
    ------
    ConfigError
        If a file cannot be used, or the certificate has expired or is not valid yet.
    """

    def __init__(
        self, certificate: Path, key: Path, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self.files, self._now = (certificate, key), now
        _private(key, "key")
        try:
            (first, *_) = x509.load_pem_x509_certificates(read_small(certificate)[0])
        except (OSError, ValueError) as error:
            raise ConfigError(f"certificate {certificate} cannot be read: {_why(error)}") from error
        self.ends = first.not_valid_after_utc
        if first.not_valid_before_utc > now():
            raise ConfigError(f"certificate {certificate} is not valid yet; compare the clocks")
        if self.fault:
            raise ConfigError(f"certificate {certificate}: {self.fault}")

    @property
    def fault(self) -> str:
        """Say that the certificate has expired, or nothing."""
        ends = f"{self.ends:%Y-%m-%d %H:%M} UTC"
        return f"the certificate expired at {ends}; renew it" if self._now() >= self.ends else ""

    def load_into(self, context: ssl.SSLContext) -> None:
        """Serve new connections with it.

        Raises
        ------
        ConfigError
            If the key is another certificate's, or encrypted; the context is then of no use.
        """
        certificate, key = self.files
        try:
            context.load_cert_chain(certificate, key, password="")  # or OpenSSL asks the terminal
        except OSError as error:  # ssl.SSLError is one
            raise ConfigError(
                f"certificate {certificate} does not fit key {key}, or the key has a passphrase"
            ) from error
