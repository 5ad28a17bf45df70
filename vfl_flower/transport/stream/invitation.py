"""Invitation of a passive party to a stream session."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from flwr.common import FitIns, Parameters, Scalar

from vfl_flower.common.errors import ProtocolError

TOKEN_BYTES = 32


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
        If it is damaged.
    """
    if "stream-token" not in config:
        return None
    try:
        values = {key: config[f"stream-{key}"] for key in KEYS}
        invitation = Invitation(
            str(values["address"]),
            bytes(values["certificate"]),  # type: ignore[arg-type]
            int(values["run"]),
            int(values["node"]),
            bytes(values["token"]),  # type: ignore[arg-type]
            float(values["grace"]),
        )
        return invitation, json.loads(str(config["stream-options"]))
    except (KeyError, TypeError, ValueError) as error:
        raise ProtocolError("an invitation to a session cannot be read") from error
