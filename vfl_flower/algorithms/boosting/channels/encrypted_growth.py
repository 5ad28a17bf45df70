"""One passive party's share in growing trees from encrypted gradients."""

from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from vfl_flower.algorithms.boosting.channels import slots
from vfl_flower.algorithms.boosting.growth import Growth
from vfl_flower.common.codec import Array
from vfl_flower.common.state import State

if TYPE_CHECKING:
    from gmpy2 import mpz

    from vfl_flower.crypto.paillier import PublicKey


class EncryptedGrowth(Growth):
    """Columns, and trees that grow on them by unreadable sums.

    It does not know how much its splits gain.
    """

    key: "PublicKey"

    def receive(self, number: int, key: Array, sealed: Array) -> None:
        """Begin a round.

        Parameters
        ----------
        number : int
            Of the round.
        key : ndarray
            (X,) uint8, n.
        sealed : ndarray
            (B, T, Y) uint8, the ciphertext of each row and tree.

        Raises
        ------
        ProtocolError
            If these are no key and no ciphertexts.
        """
        self._read(key, sealed)
        self.enter(number, sealed.shape[1], len(sealed))

    def _read(self, key: Array, sealed: Array) -> None:
        # gmpy2 is an extra, slow to import
        from vfl_flower.crypto.paillier import PublicKey

        self.key = PublicKey.read(key.tobytes(), slots.KEY_BITS)
        found, trees = self.key.ciphertexts(sealed.tobytes()), sealed.shape[1]
        self._sealed = [found[tree::trees] for tree in range(trees)]

    def sums(self) -> Array:
        """Sum up who would go left, in nodes of `Layer.smaller`.

        (P, Z, Y) uint8: ciphertexts of `slots` candidates each, the last one's filled up by 0.
        """
        each, asked = slots.count(), self.layer.smaller().tolist()
        starts = range(0, len(self.offered.column), each)
        groups = (left[at : at + each] for left in map(self.left, asked) for at in starts)
        packed = (self.key.packed(group, slots.WIDTH) for group in groups)
        made = self.key.written(map(self.key.randomised, packed))
        return _octets(made).reshape(len(asked), len(starts), self.key.size)

    def left(self, index: int) -> "list[mpz]":
        """Sum up who would go left in a node, by candidate."""
        rows, offered = self.layer.rows(index), self.offered
        sealed = self._sealed[self.layer.tree[index]]
        own = [sealed[row] for row in rows.tolist()]
        whole, made = self.key.total(own), []
        for column in dict.fromkeys(offered.column.tolist()):  # in their order
            bins = self._by_bin(self.bins.codes[column][rows], own, whole)
            left = [*accumulate(bins[:-1], lambda *two: self.key.total(two))]
            at = offered.column == column
            for last, missing in zip(offered.bin[at], offered.missing_left[at], strict=True):
                made.append(self.key.total([left[last], bins[-1]]) if missing else left[last])
        return made

    def _by_bin(self, codes: Array, own: "list[mpz]", whole: "mpz") -> "list[mpz]":
        """Sum up a node's rows by bin; the fullest bin by subtraction."""
        key, counts = self.key, np.bincount(codes, minlength=self.bins.most + 1)
        fullest, made = int(counts.argmax()), [key.total([])] * len(counts)
        others, square = np.flatnonzero(codes != fullest), key.square
        for code, row in zip(codes[others].tolist(), others.tolist(), strict=True):
            made[code] = made[code] * own[row] % square
        made[fullest] = key.less(whole, key.total(made[code] for code in np.flatnonzero(counts)))
        return made

    def split(self, nodes: Array, numbers: Array) -> None:
        """Split nodes at their first candidates of those that are named.

        Parameters
        ----------
        nodes : ndarray
            (Q,) int64, ascending indices in the layer, more than once for several candidates.
        numbers : ndarray
            (Q,) int64, of candidates whose sums are equal.
        """
        rank = self.ranks()
        for index in np.unique(nodes).tolist():
            named = numbers[nodes == index]
            self.keep(index, int(named[rank[named].argmin()]))

    def state_dict(self) -> State:
        """Return the state that must survive until the next message."""
        if self.round < 0:
            return super().state_dict()
        by_row = [each for row in zip(*self._sealed, strict=True) for each in row]
        shape = len(self._sealed[0]), len(self._sealed), self.key.size
        key, sealed = _octets(self.key.octets()), _octets(self.key.written(by_row))
        return super().state_dict() | {"key": key, "sealed": sealed.reshape(shape)}

    def load_state_dict(self, state: State) -> None:
        """Restore the state of `state_dict`."""
        super().load_state_dict(state)
        if "key" in state:
            self._read(np.asarray(state["key"]), np.asarray(state["sealed"]))


def _octets(octets: bytes) -> Array:
    return np.frombuffer(bytearray(octets), np.uint8)
