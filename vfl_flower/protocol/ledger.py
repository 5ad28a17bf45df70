"""Ledger of exchanges and bytes by party, purpose, phase and direction.

Counted are the bytes of a message's content. *Payload* is the numbers themselves; *framing* is the
npy headers and the keys and values of the config record (UTF-8 for text, eight bytes for a
number). Flower's own envelope, TLS and TCP add to this and depend on the transport; they are
not counted, so the same run has the same ledger on every transport.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from flwr.common import Scalar

from vfl_flower.common.codec import payload_of
from vfl_flower.protocol.exchange import Request

UP, DOWN = "up", "down"

_Entry = tuple[str, str, str, str]
"""Party, purpose, phase, direction."""

_FORMER_PURPOSES = {"upkeep": "control"}
"""Purposes that checkpoints of earlier versions hold under other names."""


class Cost(NamedTuple):
    """Bytes of one request in a message.

    Attributes
    ----------
    purpose, phase : str
        The request's.
    payload, framing : int
        Bytes.
    """

    purpose: str
    phase: str
    payload: int
    framing: int


def costs_of(
    requests: Sequence[Request], batches: Sequence[Sequence[bytes]], config: Mapping[str, Scalar]
) -> list[Cost]:
    """Count one message to a party: pending tells, and the ask.

    A riding tell pays for its own mention in the config record, commas included, so that an ask
    costs the same whether or not something rides with it.
    """
    rest, costs = _framing_of(config), []
    for request, batch in zip(requests, batches, strict=True):
        payload, framing = _bytes_of(batch)
        if request is requests[-1]:
            framing += rest
        else:
            mention = len(f"{request.phase},{len(batch)},")
            framing += mention
            rest -= mention
        costs.append(Cost(request.purpose, request.phase, payload, framing))
    return costs


def _bytes_of(tensors: Sequence[bytes]) -> tuple[int, int]:
    """Return payload and framing of some arrays."""
    payload = sum(map(payload_of, tensors))
    return payload, sum(map(len, tensors)) - payload


def _framing_of(config: Mapping[str, Scalar]) -> int:
    """Return the bytes that a config record takes, by the rule above."""
    return sum(
        len(key.encode()) + (len(value.encode()) if isinstance(value, str) else 8)
        for key, value in config.items()
    )


class Ledger:
    """Ledger of one run, kept by the active party.

    Attributes
    ----------
    payload, framing : Counter
        Bytes by (party, purpose, phase, direction).
    exchanges : Counter
        Exchanges by purpose.
    uploads : Counter
        Replies that carried something made from a party's columns, by party; evaluation counts.
    """

    def __init__(self) -> None:
        self.payload: Counter[_Entry] = Counter()
        self.framing: Counter[_Entry] = Counter()
        self.exchanges: Counter[str] = Counter()
        self.uploads: Counter[str] = Counter()

    def book_request(self, party: str, costs: Iterable[Cost]) -> None:
        """Enter one message to a party."""
        for cost in costs:
            self._book(party, cost, DOWN)

    def book_reply(
        self,
        party: str,
        request: Request,
        tensors: Sequence[bytes],
        metrics: Mapping[str, Scalar],
    ) -> None:
        """Enter one message from a party."""
        payload, framing = _bytes_of(tensors)
        framing += _framing_of(metrics)
        self._book(party, Cost(request.purpose, request.phase, payload, framing), UP)
        if tensors and request.purpose != "control":
            self.uploads[party] += 1

    def _book(self, party: str, cost: Cost, direction: str) -> None:
        entry = (party, cost.purpose, cost.phase, direction)
        self.payload[entry] += cost.payload
        self.framing[entry] += cost.framing

    def total(self, direction: str, purpose: str = "training") -> int:
        """Return all bytes, payload and framing, in one direction for one purpose."""
        return sum(
            count
            for books in (self.payload, self.framing)
            for (_, p, _, d), count in books.items()
            if (p, d) == (purpose, direction)
        )

    def by_phase(self, purpose: str = "training") -> dict[str, dict[str, int]]:
        """Return bytes, payload and framing, as ``{phase: {"up": n, "down": n}}``."""
        return self._table(purpose, lambda party, phase: phase)

    def by_party(self, purpose: str = "training") -> dict[str, dict[str, int]]:
        """Return bytes, payload and framing, as ``{party: {"up": n, "down": n}}``."""
        return self._table(purpose, lambda party, phase: party)

    def _table(self, purpose: str, heading: Callable[[str, str], str]) -> dict[str, dict[str, int]]:
        table: dict[str, dict[str, int]] = {}
        for books in (self.payload, self.framing):
            for (party, p, phase, direction), count in books.items():
                if p == purpose:
                    row = table.setdefault(heading(party, phase), {UP: 0, DOWN: 0})
                    row[direction] += count
        return table

    def state_dict(self) -> dict[str, Any]:
        """Return the counts as JSON values."""
        return {
            "payload": [[*entry, n] for entry, n in self.payload.items()],
            "framing": [[*entry, n] for entry, n in self.framing.items()],
            "exchanges": dict(self.exchanges),
            "uploads": dict(self.uploads),
        }

    def carry_over(self, state: dict[str, Any]) -> None:
        """Add the counts of an earlier attempt, as returned by `state_dict`."""
        for books, counts in ((self.payload, state["payload"]), (self.framing, state["framing"])):
            for party, purpose, phase, direction, n in counts:
                books[(party, _present(purpose), phase, direction)] += n
        self.exchanges.update({_present(purpose): n for purpose, n in state["exchanges"].items()})
        self.uploads.update(state["uploads"])


def _present(purpose: str) -> str:
    """Return a purpose under its present name."""
    return _FORMER_PURPOSES.get(purpose, purpose)
