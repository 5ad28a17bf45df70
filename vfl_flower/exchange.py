"""The words of a protocol: what the active party asks, and what comes back.

A protocol is a generator. ``replies = yield ask(...)`` is one exchange, that is one Flower `fit`
with every party asked; ``yield tell_each(...)`` needs no answer and rides on the next exchange.
Sub-protocols compose with ``yield from``.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from torch import Tensor

from vfl_flower.codec import Array, encode, to_array, to_tensor
from vfl_flower.errors import ProtocolError
from vfl_flower.ring import decode_ring

Purpose = Literal["training", "evaluation", "upkeep"]
"""What an exchange is for. The ledger keeps the three apart."""

Value = Array | Tensor


@dataclass(frozen=True)
class Request:
    """Arrays for one phase: the same for every party, or one list for each."""

    phase: str
    arrays: Sequence[Sequence[Value]]  # one entry for all, or one per party
    purpose: Purpose

    def tensors_for(self, party: int) -> list[bytes]:
        """Return the npy bytes for the party with this roster index."""
        return self._encoded[party if len(self._encoded) > 1 else 0]

    @cached_property
    def _encoded(self) -> list[list[bytes]]:
        return [[encode(to_array(a)) for a in arrays] for arrays in self.arrays]


@dataclass(frozen=True)
class Ask(Request):
    """A request that every party answers.

    Attributes
    ----------
    own : callable, optional
        What the active party computes while the exchange is open.
    """

    own: Callable[[], Any] | None = None


class Tell(Request):
    """A request that needs no answer; it is delivered with the next exchange."""


@dataclass(frozen=True)
class Replies:
    """What came back, in roster order.

    Attributes
    ----------
    arrays : list of list of ndarray
        One list per party.
    own : object
        What the ask's `own` returned, or None.
    """

    arrays: Sequence[Sequence[Array]]
    own: Any = field(default=None)

    @property
    def singles(self) -> list[Array]:
        """The one array of each party, (K, ...).

        Raises
        ------
        ProtocolError
            If a party sent another number of arrays, another shape or another dtype.
        """
        if any(len(arrays) != 1 for arrays in self.arrays):
            raise ProtocolError("each party was to answer with one array; not all did")
        singles = [arrays[0] for arrays in self.arrays]
        if len({(a.shape, a.dtype) for a in singles}) > 1:
            answers = ", ".join(f"{a.dtype}{a.shape}" for a in singles)
            raise ProtocolError(f"the parties' answers do not fit together: {answers}")
        return singles

    @cached_property
    def tensors(self) -> list[Tensor]:
        """The one array of each party as a tensor."""
        return [to_tensor(array) for array in self.singles]

    def sum(self) -> Tensor:
        """Add up the parties' arrays.

        Returns
        -------
        Tensor
            float32. Ring words (uint32) are added modulo 2**32, where masks cancel, and decoded
            exactly; floats are added in roster order.
        """
        singles = self.singles
        if singles[0].dtype == np.uint32:
            return decode_ring(np.add.reduce(singles, dtype=np.uint32))
        total = self.tensors[0].clone()
        for tensor in self.tensors[1:]:
            total += tensor
        return total


Protocol = Generator[Request, Replies, Any]
"""Yields asks and tells, is sent the replies of each ask."""


def ask(
    phase: str,
    *arrays: Value,
    own: Callable[[], Any] | None = None,
    purpose: Purpose = "training",
) -> Ask:
    """Ask every party the same.

    Parameters
    ----------
    phase : str
        The client's phase that answers.
    *arrays : ndarray or Tensor
        Its arguments.
    own : callable, optional
        Runs at the active party while the exchange is open; its value is ``replies.own``.
    purpose : {"training", "evaluation", "upkeep"}
        Where the ledger books the bytes.
    """
    return Ask(phase, [arrays], purpose, own)


def ask_each(
    phase: str,
    arrays: Sequence[Value],
    own: Callable[[], Any] | None = None,
    purpose: Purpose = "training",
) -> Ask:
    """Ask every party something else: one array for each, in roster order."""
    return Ask(phase, [[a] for a in arrays], purpose, own)


def tell(phase: str, *arrays: Value, purpose: Purpose = "training") -> Tell:
    """Tell every party the same; see `ask`."""
    return Tell(phase, [arrays], purpose)


def tell_each(phase: str, arrays: Sequence[Value], purpose: Purpose = "training") -> Tell:
    """Tell every party something else; see `ask_each`."""
    return Tell(phase, [[a] for a in arrays], purpose)
