"""Requests and replies of a protocol: `ask`, `tell`, `Replies`.

A protocol is a generator. ``replies = yield ask(...)`` is one exchange, that is one Flower `fit`
with every party, or those that `to` names; ``yield tell_each(...)`` needs no answer and rides on
the next exchange. Sub-protocols compose with ``yield from``.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from torch import Tensor

from vfl_flower.common.codec import Array, decode, encode, shape_of, to_array, to_tensor
from vfl_flower.common.errors import PartyError, ProtocolError
from vfl_flower.config.catalog import FLOAT32
from vfl_flower.crypto.fixed_point import WHOLE, decode_ring
from vfl_flower.learning.row_limit import RowLimit
from vfl_flower.learning.wire_precision import narrowed

Purpose = Literal["training", "evaluation", "control"]
"""What an exchange is for. The ledger keeps the three apart."""

Value = Array | Tensor
Values = Value | tuple[Value, ...]


@dataclass(frozen=True)
class Request:
    """Arrays for one phase, encoded for the wire.

    Attributes
    ----------
    phase : str
        The clients' phase that deals with them.
    shared : list of bytes or None
        What every party gets, as npy bytes; None if each gets something else.
    each : list of list of bytes
        What each party gets, in roster order, where nothing is shared.
    purpose : {"training", "evaluation", "control"}
        Where the ledger books the bytes.
    own : callable, optional
        The active party's own share. It runs while the exchange is open that carries the request,
        side by side with the parties.
    to : sequence of int, optional
        Ranks of the parties that it is for; all by default.
    """

    phase: str
    shared: list[bytes] | None
    each: list[list[bytes]]
    purpose: Purpose
    own: Callable[[], Any] | None
    to: Sequence[int] | None

    def narrowed(self, precision: str) -> Self:
        """Return the request with numbers as the wire has them; see `wire_precision`."""
        if precision == FLOAT32:
            return self
        return self.changed(lambda arrays: [narrowed(each, precision) for each in arrays])

    def changed(self, change: Callable[[Sequence[Array]], Sequence[Array]]) -> Self:
        """Return the request with its arrays changed, shared ones once."""

        def made(tensors: Sequence[bytes]) -> list[bytes]:
            return [encode(each) for each in change([decode(tensor) for tensor in tensors])]

        shared = None if self.shared is None else made(self.shared)
        return replace(self, shared=shared, each=[made(tensors) for tensors in self.each])

    def targets(self, parties: int) -> Sequence[int]:
        """Return whom it is for, out of so many parties."""
        return range(1, parties + 1) if self.to is None else self.to

    def tensors_for(self, rank: int, parties: int) -> list[bytes]:
        """Return the npy bytes for the party of a rank."""
        if self.shared is not None:
            return self.shared
        return self.each[self.targets(parties).index(rank)]

    def rows_for(self, rank: int, parties: int) -> int:
        """Return the length of its first array, or 0."""
        tensors = self.tensors_for(rank, parties)
        shape = shape_of(tensors[0]) if tensors else ()
        return shape[0] if shape else 0


class Ask(Request):
    """A request that is answered by everybody it is for."""


class Tell(Request):
    """A request without an answer, delivered with the next exchange."""


@dataclass(frozen=True)
class Replies:
    """Replies to one request, in roster order.

    Attributes
    ----------
    arrays : list of list of ndarray
        One list per party.
    own : object
        What the ask's `own` returned, or None.
    whole : bool
        Whether the whole roster was asked.
    limit : RowLimit or None
        Bound of the rows that are summed.
    names : sequence of str
        The parties' names, where the bound is checked party by party.
    """

    arrays: Sequence[Sequence[Array]]
    own: Any = None
    whole: bool = True
    limit: RowLimit | None = None
    names: Sequence[str] = ()

    def part(self, position: int, *, rows: bool = True) -> "Replies":
        """Return the replies with one array of each party's several.

        Parameters
        ----------
        position : int
            Of the array, from 0.
        rows : bool
            Whether it has a row for each sample, of which a bound is.
        """
        arrays = [each[position : position + 1] for each in self.arrays]
        return replace(self, arrays=arrays, limit=self.limit if rows else None)

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

    def sum(self, weight: int | None = None) -> Tensor:
        """Sum the parties' arrays; pairwise masks cancel.

        Parameters
        ----------
        weight : int, optional
            The sum of all parties' weights; as many as there are parties, unless said.

        Returns
        -------
        Tensor
            float32. Words are added in their ring, where masks cancel, and decoded exactly; floats
            are added in roster order.

        Raises
        ------
        PartyError
            If no honest parties' arrays come to this sum; see `learning.row_limit`.
        """
        singles = self.singles
        if singles[0].dtype.kind == "u":
            if not self.whole:
                raise ProtocolError("masks cancel in the sum over the whole roster only")
            summands = weight or len(singles)
            ring = self.limit.ring(summands) if self.limit else WHOLE
            decoded = decode_ring(np.add.reduce(singles, dtype=ring.dtype), ring)
            self._check_sum(decoded, summands)
            return decoded
        self.check_rows(weight or 1)
        total = self.tensors[0].clone()
        for tensor in self.tensors[1:]:
            total += tensor
        return total

    def check_rows(self, weight: int = 1) -> None:
        """Refuse unmasked rows above the bound.

        Parameters
        ----------
        weight : int
            Largest weight that a party's rows may have.

        Raises
        ------
        PartyError
            Names the party.
        """
        for name, rows in zip(self.names, self.tensors, strict=False):
            if self.limit and self.limit.exceeded(rows, 1, weight):
                raise PartyError(
                    f"{name} sent a row above embedding-bound {self.limit.bound:g}, to which its "
                    "party clips"
                )

    def _check_sum(self, total: Tensor, weight: int) -> None:
        """Refuse a decoded sum that no honest parties' rows come to."""
        if self.limit and self.limit.exceeded(total, len(self.arrays), weight):
            raise PartyError(
                f"a masked party sent rows above embedding-bound {self.limit.bound:g}, or random "
                "words: the sum has a longer row than all parties' together can be; masks hide "
                "which party it was; find it with blinding = none on data that may be seen"
            )


Protocol = Generator[Request, Replies, Any]
"""Yields asks and tells, is sent the replies of each ask."""


def ask(
    phase: str,
    *arrays: Value,
    own: Callable[[], Any] | None = None,
    purpose: Purpose = "training",
    to: Sequence[int] | None = None,
) -> Ask:
    """Ask all in `to` the same; see `Request`.

    The value of `own` is ``replies.own``.
    """
    return Ask(phase, _encode(arrays), [], purpose, own, to)


def ask_each(
    phase: str,
    arrays: Sequence[Value],
    own: Callable[[], Any] | None = None,
    purpose: Purpose = "training",
    to: Sequence[int] | None = None,
) -> Ask:
    """Ask each party with its own array, in the order of `to`."""
    return Ask(phase, None, [_encode([a]) for a in arrays], purpose, own, to)


def tell(
    phase: str,
    *arrays: Value,
    own: Callable[[], Any] | None = None,
    purpose: Purpose = "training",
    to: Sequence[int] | None = None,
) -> Tell:
    """Tell all in `to` the same; see `Request`.

    Nothing comes back, not even from `own`.
    """
    return Tell(phase, _encode(arrays), [], purpose, own, to)


def tell_each(
    phase: str,
    arrays: Sequence[Values],
    own: Callable[[], Any] | None = None,
    purpose: Purpose = "training",
    to: Sequence[int] | None = None,
) -> Tell:
    """Tell each party its own arrays, in the order of `to`.

    One array or a tuple of arrays for each.
    """
    each = [_encode(a if isinstance(a, tuple) else (a,)) for a in arrays]
    return Tell(phase, None, each, purpose, own, to)


def _encode(values: Sequence[Value]) -> list[bytes]:
    return [encode(to_array(value)) for value in values]
