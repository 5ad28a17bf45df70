"""Nodes of one layer of trees, and their rows."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from vfl_flower.common.codec import Array


@dataclass(frozen=True, eq=False)
class Layer:
    """Nodes of T trees that may be split next.

    All parties know it. A node is numbered as in a heap: its children are 2 n + 1 and 2 n + 2.

    Attributes
    ----------
    tree, node : ndarray
        (S,) int64, in order of trees, siblings side by side.
    place : ndarray
        (T, B) int32, the index of each row's node; -1 in a leaf.
    """

    tree: Array
    node: Array
    place: Array

    @classmethod
    def of_roots(cls, trees: int, rows: int) -> Self:
        """Return the roots, with all rows."""
        place = np.repeat(np.arange(trees, dtype=np.int32)[:, None], rows, 1)
        return cls(np.arange(trees), np.zeros(trees, np.int64), place)

    def __len__(self) -> int:
        return len(self.tree)

    def rows(self, index: int) -> Array:
        """Return the rows of a node by its index, ascending."""
        return np.flatnonzero(self.place[self.tree[index]] == index)

    def children(self, split: Array, left: NDArray[np.bool_]) -> Self:
        """Return the next layer.

        Parameters
        ----------
        split : ndarray
            (S,) bool, the nodes that are split.
        left : ndarray
            (T, B) bool, the rows that go left.
        """
        parents = np.flatnonzero(split)
        first = np.full(len(self) + 1, -2, np.int32)  # the last one is that of leaves
        first[parents] = 2 * np.arange(len(parents), dtype=np.int32)
        start = first[self.place]
        place = np.where(start < 0, np.int32(-1), start + ~left)
        node = 2 * self.node[parents][:, None] + np.array([1, 2])
        return type(self)(np.repeat(self.tree[parents], 2), node.ravel(), place)

    def counts(self) -> Array:
        """Count the rows of each node, (S,)."""
        return np.bincount(self.place[self.place >= 0], minlength=len(self))

    def smaller(self) -> Array:
        """Return the indices of nodes whose sums are sent, (P,).

        Of two siblings that with fewer rows, of equal ones the left; all roots.
        """
        if not self.node.any():
            return np.arange(len(self))
        left, right = self.counts().reshape(-1, 2).T
        fewer: Array = np.arange(0, len(self), 2) + (right < left)
        return fewer

    def whole(self, sent: Array, parents: Array | None) -> Array:
        """Complete the sums of all nodes by subtraction.

        Parameters
        ----------
        sent : ndarray
            (P, ...), of the nodes of `smaller`.
        parents : ndarray or None
            (P, ...), of their parents, in order; None for roots.

        Returns
        -------
        ndarray
            (S, ...).
        """
        if parents is None:
            return sent
        made = np.repeat(parents - sent, 2, axis=0)
        made[self.smaller()] = sent
        return made
