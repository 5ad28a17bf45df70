"""What travelled: exchanges and bytes, by party, purpose, phase and direction.

Counted are the bytes of a message's content. *Payload* is the numbers themselves; *framing* is the
npy headers and the keys and values of the config record (UTF-8 for text, eight bytes for a
number). Flower's own envelope, TLS and TCP add to this and depend on the carrier; they are not
counted, so the same run has the same ledger on every carrier.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from flwr.common import Scalar

from vfl_flower.codec import payload_of

UP, DOWN = "up", "down"


def framing_of(config: Mapping[str, Scalar]) -> int:
    """Return the bytes that a config record takes, by the rule above."""
    return sum(
        len(key.encode()) + (len(value.encode()) if isinstance(value, str) else 8)
        for key, value in config.items()
    )


class Ledger:
    """The books of one run, kept by the active party.

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
        self.payload: Counter[tuple[str, str, str, str]] = Counter()
        self.framing: Counter[tuple[str, str, str, str]] = Counter()
        self.exchanges: Counter[str] = Counter()
        self.uploads: Counter[str] = Counter()

    def book(
        self, party: str, purpose: str, phase: str, direction: str, tensors: Sequence[bytes]
    ) -> None:
        """Enter the arrays of one phase."""
        entry = (party, purpose, phase, direction)
        payload = sum(map(payload_of, tensors))
        self.payload[entry] += payload
        self.framing[entry] += sum(map(len, tensors)) - payload
        if direction == UP and tensors and purpose != "upkeep":
            self.uploads[party] += 1

    def book_config(
        self, party: str, purpose: str, phase: str, direction: str, config: Mapping[str, Scalar]
    ) -> None:
        """Enter the config record of one message under the phase that it asks."""
        self.framing[(party, purpose, phase, direction)] += framing_of(config)

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
        table: dict[str, dict[str, int]] = {}
        for books in (self.payload, self.framing):
            for (_, p, phase, direction), count in books.items():
                if p == purpose:
                    table.setdefault(phase, {UP: 0, DOWN: 0})[direction] += count
        return table

    def state_dict(self) -> dict[str, Any]:
        """Return the books as JSON values."""
        return {
            "payload": [[*entry, n] for entry, n in self.payload.items()],
            "framing": [[*entry, n] for entry, n in self.framing.items()],
            "exchanges": dict(self.exchanges),
            "uploads": dict(self.uploads),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take back what `state_dict` gave."""
        self.payload = Counter({tuple(entry): n for *entry, n in state["payload"]})
        self.framing = Counter({tuple(entry): n for *entry, n in state["framing"]})
        self.exchanges, self.uploads = Counter(state["exchanges"]), Counter(state["uploads"])
