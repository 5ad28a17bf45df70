"""Messages of one exchange: requests to a party, and its reply."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from flwr.common import FitIns, FitRes, Parameters, Scalar
from flwr.server.client_proxy import ClientProxy

from vfl_flower.common.codec import Array, from_parameters
from vfl_flower.common.errors import (
    PartyAway,
    PartyError,
    PartyRefusal,
    PolicyError,
    PrivacyError,
    ProtocolError,
    last_line,
    printable,
    tellable,
)
from vfl_flower.learning.wire_precision import widened
from vfl_flower.protocol.exchange import Request
from vfl_flower.protocol.ledger import Cost, Ledger, costs_of

_NUMBERS = re.compile(r"[0-9]{1,5}(,[0-9]{1,5})*")
_REFUSALS = (PolicyError.__name__, PrivacyError.__name__)
"""Errors of a party that keeps to its policy or budget, as its reply names them."""

COUNTS = dict.fromkeys(("training", "evaluation", "row_training", "row_evaluation", "row"), int)
FACTS = {
    "rows": int,
    "alignment": str,
    "split": str,
    "model": str,
    "embedding_dim": int,
    "protocol_version": int,
    "code": str,
    "folder": str,
    "task": str,
    "tiles of": str,
    "policy": str,
    "rules": str,
}
"""Type of each fact that a party may tell at the roll call, none of which depends on values."""

Failures = Sequence[tuple[ClientProxy, FitRes] | BaseException]


def _message_of(
    requests: Sequence[Request], tensors: Sequence[Sequence[bytes]], exchange: int
) -> FitIns:
    """Put one party's pending tells and the ask into one message.

    Parameters
    ----------
    requests : sequence of Request
        The tells in order, and then the ask, if there is one.
    tensors : sequence of sequence of bytes
        The npy bytes of each of them, as they are for this party.
    exchange : int
        The run's counter of exchanges.
    """
    config: dict[str, Scalar] = {
        "exchange": exchange,
        "phases": ",".join(request.phase for request in requests),
        "arrays": ",".join(str(len(each)) for each in tensors),
    }
    return FitIns(Parameters([t for each in tensors for t in each], "numpy.ndarray"), config)


def arrays_of(
    res: FitRes | None, name: str, where: Callable[[], str], failures: Failures, precision: str
) -> list[Array]:
    """Unpack the reply of one party.

    Parameters
    ----------
    res : FitRes or None
        The reply; None where none came.
    name : str
        The party's.
    where : callable
        Names exchange and yield that asked, for errors.
    failures : sequence
        Flower's, which name no party.
    precision : str
        Of numbers in messages.

    Raises
    ------
    PartyAway
        If the party may come back.
    PartyRefusal
        If its policy or its privacy budget refuses.
    PartyError
        If it failed, did not answer, or its reply cannot be read.
    """
    if res is None:
        reasons = {
            last_line(f if isinstance(f, BaseException) else f[1].status.message) for f in failures
        }
        away = any(isinstance(failure, PartyAway) for failure in failures)
        kind = PartyAway if away else PartyError
        raise kind(f"{name} did not answer {where()}: {'; '.join(reasons)}")
    if "error" in res.metrics:
        error, message = (printable(res.metrics.get(key, "")) for key in ("error", "message"))
        text = f"{name} failed in {where()}: {error}: {message}"
        if error in _REFUSALS:
            raise PartyRefusal(text, message if message.startswith(name) else f"{name}: {message}")
        raise PartyError(text)
    try:
        return [widened(array, precision) for array in from_parameters(res.parameters)]
    except ProtocolError as error:
        raise PartyError(f"{name} garbled {where()}: {error}") from error


class Outbox:
    """Messages of one exchange; parties that are sent the same share one.

    Parameters
    ----------
    ledger : Ledger
        In which they are entered.
    parties : int
        How many passive parties there are.
    exchange : int
        The run's counter of exchanges.
    """

    def __init__(self, ledger: Ledger, parties: int, exchange: int) -> None:
        self._ledger, self._parties, self._exchange = ledger, parties, exchange
        self._written: dict[tuple[int, ...], tuple[FitIns, list[Cost]]] = {}

    def message(self, name: str, requests: Sequence[Request], rank: int) -> FitIns:
        """Return the message to one party, and enter it in the ledger."""
        tensors = [request.tensors_for(rank, self._parties) for request in requests]
        same = (*map(id, requests), *map(id, tensors))  # all alive until the last is written
        if same not in self._written:
            written = _message_of(requests, tensors, self._exchange)
            self._written[same] = written, costs_of(requests, tensors, written.config)
        message, costs = self._written[same]
        self._ledger.book_request(name, costs)
        return message


def read_request(config: dict[str, Scalar]) -> tuple[int, list[str], list[int]]:
    """Read a request's exchange, phases and numbers of arrays.

    Raises
    ------
    ProtocolError
        If they cannot be read.
    """
    exchange, phases, arrays = (config.get(key) for key in ("exchange", "phases", "arrays"))
    if type(exchange) is not int or not 0 < exchange < 2**63:
        raise ProtocolError(f"a request's exchange is {exchange!r}, no counter")
    if not isinstance(phases, str) or not isinstance(arrays, str):
        raise ProtocolError("a request without phases or arrays")
    if not _NUMBERS.fullmatch(arrays):
        raise ProtocolError(f"a request's arrays are counted as '{arrays}'")
    return exchange, phases.split(","), [int(count) for count in arrays.split(",")]


def checked(told: Mapping[str, Scalar], types: Mapping[str, type], what: str) -> dict[str, Scalar]:
    """Return scalars that are declared; refuse any other."""
    if not told:  # as in most replies
        return {}
    if other := sorted(name for name, value in told.items() if type(value) is not types.get(name)):
        raise ProtocolError(f"undeclared {what}: {', '.join(other)}; nothing was sent")
    if long := sorted(name for name, value in told.items() if not tellable(value)):
        raise ProtocolError(f"{what} that are too long or not printable: {', '.join(long)}")
    return dict(told)


def with_stand_ins(
    heard: Mapping[int, list[Array]], targets: Collection[int]
) -> dict[int, list[Array]]:
    """Add zeros, shaped as another's, for asked parties that have left."""
    if len(heard) == len(targets):
        return dict(heard)
    shaped = next(iter(heard.values()), [])
    zeros = [np.zeros_like(each) for each in shaped]
    return {k: heard.get(k, zeros) for k in sorted(targets)}
