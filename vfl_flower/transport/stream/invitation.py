"""Invitation of a passive party to a stream session."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from flwr.common import FitIns, Parameters, Scalar

from vfl_flower.common.errors import ProtocolError
from vfl_flower.config.options.system import LONGEST

TOKEN_BYTES = 32
LONGEST_CERTIFICATE = 1 << 14  # bytes of PEM; one of this package's has less than 1,000
_LONGEST_ADDRESS, _LONGEST_OPTIONS = 300, 1 << 20  # characters
_IDS = range(2**64)  # Flower's
_NO_CERTIFICATE = (x509.InvalidVersion, UnsupportedAlgorithm)  # beside ValueError

T = TypeVar("T")


@dataclass(frozen=True)
class Invitation:
    """Address, certificate and secret token that let one node join."""

    address: str
    certificate: bytes
    run: int
    node: int
    token: bytes
    grace: float


KEYS = ("address", "certificate", "run", "node", "token", "grace")


def invitation_to(invitation: Invitation, options: Mapping[str, object]) -> FitIns:
    """Build the request that opens a session."""
    config: dict[str, Scalar] = {f"stream-{key}": getattr(invitation, key) for key in KEYS}
    for key in ("run", "node"):  # Flower's ids have 64 bits, its records' numbers have 63
        config[f"stream-{key}"] = str(config[f"stream-{key}"])
    config["stream-options"] = json.dumps(options)
    return FitIns(Parameters([], "numpy.ndarray"), config)


def invitation_in(config: Mapping[str, Scalar]) -> tuple[Invitation, dict[str, object]] | None:
    """Read an invitation and the run's options from a request, or None.

    Raises
    ------
    ProtocolError
        If it is damaged, or not one that this package makes.
    """
    if "stream-token" not in config:
        return None
    try:
        address = _typed(config, "address", str)
        grace = config["stream-grace"]
        certificate = _typed(config, "certificate", bytes)
        token = _typed(config, "token", bytes)
        run, node = (_id(_typed(config, key, str)) for key in ("run", "node"))
        if type(grace) not in (int, float) or not 0 < float(grace) <= LONGEST:  # nor NaN
            raise ValueError("grace")
        if len(token) != TOKEN_BYTES:
            raise ValueError("token")
        if not address.isprintable() or not 0 < len(address) <= _LONGEST_ADDRESS:
            raise ValueError("address")
        _check_certificate(certificate)
        invitation = Invitation(address, certificate, run, node, token, float(grace))
        return invitation, _options(_typed(config, "options", str))
    except (
        KeyError,
        TypeError,
        ValueError,
        RecursionError,
        OverflowError,
        *_NO_CERTIFICATE,
    ) as error:
        raise ProtocolError("an invitation to a session cannot be read") from error


def _typed(config: Mapping[str, Scalar], key: str, kind: type[T]) -> T:
    value = config[f"stream-{key}"]
    if type(value) is not kind:
        raise TypeError(key)
    return value


def _id(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text[:21]) not in _IDS:
        raise ValueError("id")
    return int(text)


def _check_certificate(certificate: bytes) -> None:
    """Refuse anything but one PEM certificate."""
    if len(certificate) > LONGEST_CERTIFICATE:
        raise ValueError("certificate")
    if len(x509.load_pem_x509_certificates(certificate)) != 1:
        raise ValueError("certificate")


def _options(text: str) -> dict[str, object]:
    """Read the run's options, whose names are checked elsewhere."""
    if len(text) > _LONGEST_OPTIONS:
        raise ValueError("options")
    options = json.loads(text)
    if not isinstance(options, dict):
        raise TypeError("options")
    return options
