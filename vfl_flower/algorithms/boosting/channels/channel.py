"""Gradients and sums at the active party: clear, or encrypted."""

from typing import Protocol

import numpy as np

from vfl_flower.algorithms.boosting.channels import slots
from vfl_flower.algorithms.boosting.gradients import Whole
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import PartyError, ProtocolError


class Channel(Protocol):
    """How gradients and sums are written and read."""

    def sent(self, G: Whole, H: Whole) -> tuple[Array, ...]:
        """Return the arrays of a round's gradients, (B, T) each."""

    def sums(self, name: str, reply: Array) -> Array:
        """Read a party's sums: (P, M, 2) int64.

        Raises
        ------
        PartyError
            Names the party.
        """

    def picks(
        self, nodes: Array, picked: Array, sums: Array, signs: Array, first: int, end: int
    ) -> Array:
        """Return nodes and candidates that tell a party where to split.

        Parameters
        ----------
        nodes, picked : ndarray
            (Q,) int64, nodes of the layer, and the candidate of each.
        sums : ndarray
            (Q, M, 2) int64, of all parties' candidates there.
        signs : ndarray
            (M,) int8, of their monotone constraints.
        first, end : int
            Of the party's candidates, and behind them.
        """


class Clear:
    """Gradients and sums as they are."""

    def sent(self, G: Whole, H: Whole) -> tuple[Array, ...]:
        """See `Channel`."""
        return G.numbers, H.numbers, np.array([G.unit, H.unit], np.float32)

    def sums(self, name: str, reply: Array) -> Array:
        """See `Channel`."""
        return reply

    def picks(
        self, nodes: Array, picked: Array, sums: Array, signs: Array, first: int, end: int
    ) -> Array:
        """See `Channel`; the party knows which of its sums are equal."""
        return np.stack([nodes, picked - first], 1)


class Encrypted:
    """Gradients and sums under a key drawn for this attempt."""

    def __init__(self) -> None:
        # gmpy2 is an extra, slow to import
        from vfl_flower.crypto.paillier import PrivateKey

        self._key = PrivateKey.generated(slots.KEY_BITS)

    def sent(self, G: Whole, H: Whole) -> tuple[Array, ...]:
        """See `Channel`; the key, (X,), and ciphertexts, (B, T, Y), as bytes."""
        key = self._key.public
        pairs = zip(G.numbers.ravel().tolist(), H.numbers.ravel().tolist(), strict=True)
        written = key.written(self._key.encrypt(slots.joined(g, h)) for g, h in pairs)
        return _bytes(key.octets()), _bytes(written).reshape(*G.numbers.shape, key.size)

    def sums(self, name: str, reply: Array) -> Array:
        """See `Channel`; slots without a candidate have sums of 0."""
        try:
            ciphertexts = self._key.public.ciphertexts(reply.tobytes())
        except ProtocolError as error:
            raise PartyError(f"{name}: {error}") from error
        found = [slots.divided(self._key.decrypt(each)) for each in ciphertexts]
        if None in found:
            raise PartyError(
                f"the histogram of {name} does not add up: a message has something beside its sums"
            )
        return np.array(found, np.int64).reshape(len(reply), -1, 2)

    def picks(
        self, nodes: Array, picked: Array, sums: Array, signs: Array, first: int, end: int
    ) -> Array:
        """See `Channel`; all candidates of equal sums and signs."""
        its = sums[np.arange(len(nodes)), picked]
        equal = (sums[:, first:end] == its[:, None]).all(2)
        equal &= signs[first:end] == signs[picked][:, None]
        node, candidate = equal.nonzero()
        return np.stack([nodes[node], candidate], 1)


def _bytes(octets: bytes) -> Array:
    return np.frombuffer(octets, np.uint8)
