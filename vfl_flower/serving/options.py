"""Settings of a scoring service, from flags or from a toml file."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from vfl_flower.common.errors import ConfigError
from vfl_flower.common.files import LARGEST, OTHERS_WRITE, read_small
from vfl_flower.config.schema import check_values, kebab, near, option, typed

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Hosts that only this machine reaches."""


@dataclass(frozen=True, kw_only=True)
class ServiceOptions:
    """Address, access and limits of a scoring service."""

    listen: str = option("127.0.0.1:8443", "host:port of the HTTP service; port 0: a free one")
    token: str = option("", "file of mode 0600 with the bearer token that callers send")
    certificate: str = option("", "PEM file with the certificate and its chain, for TLS")
    key: str = option("", "PEM file of mode 0600 with the certificate's private key")
    window: float = option(
        1.0, "ms for which a request waits for others that share its exchange", least=0, most=60_000
    )
    most_ids: int = option(4096, "ids of one request at most", least=1, most=10**6)
    timeout: float = option(
        30.0, "seconds after which a request without answer gets 504", above=0, most=3600
    )

    def __post_init__(self) -> None:
        check_values(self)
        if not self.token:
            raise ConfigError(
                "token is empty; name a file with the bearer token that callers send: "
                "(umask 077; openssl rand -hex 32 > token)"
            )
        if bool(self.certificate) != bool(self.key):
            raise ConfigError("certificate and key belong together: name both files, or none")
        host, _ = self.address
        if not self.certificate and host not in LOOPBACK:
            raise ConfigError(
                f"listen is {self.listen}, which other machines reach, and without certificate "
                "and key predictions and token would travel in the clear"
            )

    @property
    def address(self) -> tuple[str, int]:
        """Host and port to listen at.

        Raises
        ------
        ConfigError
            If `listen` is no host:port.
        """
        host, _, port = self.listen.rpartition(":")
        if not host or not port.isascii() or not port.isdecimal() or int(port) > 65_535:
            raise ConfigError(f"listen must be host:port, not '{self.listen}'")
        return host.strip("[]"), int(port)


@dataclass(frozen=True, kw_only=True)
class DeployedOptions(ServiceOptions):
    """Settings of a service between machines, in its toml file.

    Attributes
    ----------
    model : str
        Run-name of the run whose model predicts; empty: that of the run's configuration.
    """

    model: str = option("", "run-name of the run whose model predicts")
    session_life: float = option(
        7 * 24 * 3600.0,
        "seconds that the parties' sessions last; they are renewed before",
        least=1,
        most=30 * 24 * 3600.0,
    )

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a toml file that only its owner may write.

        Raises
        ------
        ConfigError
            If it cannot be read or used; the text names file and key.
        """
        if not path.is_absolute():
            raise ConfigError(f"service must be the absolute path of a toml file, not '{path}'")
        try:
            return cls(**_values(cls, tomllib.loads(_content(path))))
        except (ConfigError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ConfigError(f"service {path}: {str(error).splitlines()[0]}") from error


def _content(path: Path) -> str:
    """Read a small file of this user's."""
    try:
        content, about = read_small(path)
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if about.st_mode & OTHERS_WRITE:
        raise ConfigError("may be written by others; chmod go-w it")
    if len(content) > LARGEST:
        raise ConfigError("is larger than 1 MiB")
    return content.decode()


def _values(record: type[ServiceOptions], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a file by field, checked for their types."""
    known = {kebab(each.name): each for each in fields(record)}
    for key in given:
        if key not in known:
            raise ConfigError(f"unknown key '{key}'{near(key, known)}")
    return {known[key].name: typed(known[key], value) for key, value in given.items()}
