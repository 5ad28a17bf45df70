"""Best splits of a layer's nodes, and values of leaves.

Of a node with sum of gradients G and of hessians H, which a split makes L and R (Chen and Guestrin
2016, arXiv:1603.02754):

    gain  = G_L^2 / (H_L + lambda) + G_R^2 / (H_R + lambda) - G^2 / (H + lambda)
    value = -G / (H + lambda)

Where a value has bounds, it is the nearest within them, and the term of its node is
-(2 G value + (H + lambda) value^2), which is the same without bounds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfl_flower.algorithms.boosting.within import FREE, Within
from vfl_flower.common.codec import Array

_LEAST_GAIN = 1e-10
"""Of a node's own term: what rounding makes of a split that gains nothing."""


@dataclass(frozen=True)
class Regularizer:
    """Limits of splits and of leaves.

    Attributes
    ----------
    l2 : float
        lambda.
    least_child : float
        Least H of a child.
    """

    l2: float
    least_child: float

    def term(self, G: Array, H: Array, within: Within = FREE) -> Array:
        """Return G^2 / (H + lambda), within bounds; 0 without a weight."""
        weight = H + self.l2
        made: Array = np.divide(G * G, weight, out=np.zeros_like(weight), where=weight > 0)
        if within.free:
            return made
        free, bounded = self.value(G, H), self.value(G, H, within)
        return np.where(free == bounded, made, -(2 * G + weight * bounded) * bounded)

    def value(self, G: Array, H: Array, within: Within = FREE) -> Array:
        """Return the value of leaves."""
        weight = H + self.l2
        made: Array = np.divide(-G, weight, out=np.zeros_like(weight), where=weight > 0)
        return np.clip(made, within.low, within.high)

    def best(
        self, left: Array, total: Array, units: Array, first: Array, within: Sequence[Within]
    ) -> tuple[Array, NDArray[np.float64]]:
        """Choose a split for each node.

        Of splits that gain the same, that of the first party, and then of the smallest (G_L, H_L):
        of numbers that do not depend on the order of candidates.

        Parameters
        ----------
        left : ndarray
            (S, M, 2) int64, G_L and H_L of every candidate.
        total : ndarray
            (S, 2) int64, G and H.
        units : ndarray
            (2,) float64, of both.
        first : ndarray
            (K + 2,) int64, each party's first candidate, and M.
        within : sequence of Within
            S of them, of the nodes.

        Returns
        -------
        picked : ndarray
            (S,) int64, the candidate's number; -1 where none gains.
        gained : ndarray
            (S,) float64, by its split; 0 without.
        """
        picked, gained = np.full(len(left), -1), np.zeros(len(left))
        for node, sums in enumerate(left if left.shape[1] else ()):
            gain = self.gains(sums * units, total[node] * units, within[node])
            tied = np.flatnonzero(gain == gain.max())
            if gain[tied[0]] > 0:
                owner = np.searchsorted(first, tied, side="right")
                keys = within[node].signs[tied], sums[tied, 1], sums[tied, 0], owner
                picked[node] = tied[np.lexsort(keys)[0]]
                gained[node] = gain[tied[0]]
        return picked, gained

    def gains(self, left: Array, total: Array, within: Within = FREE) -> Array:
        """Return gains of candidates; 0 without one that is allowed.

        (M, 2), (2,) -> (M,).
        """
        right, (G, H) = total - left, total
        own, sides = self.term(G, H, within), [(each[:, 0], each[:, 1]) for each in (left, right)]
        gain = sum(self.term(G, H, within) for G, H in sides) - own
        allowed = np.minimum(left[:, 1], right[:, 1]) >= max(self.least_child, 1e-300)
        if within.signs.any():
            lower, upper = (self.value(G, H, within) for G, H in sides)
            allowed &= within.signs * (upper - lower) >= 0
        made: Array = np.where(allowed & (gain > _LEAST_GAIN * abs(own)), gain, 0.0)
        return made


def within_leaves(picked: Array, gained: Array, tree: Array, leaves: Array) -> Array:
    """Leave out splits of least gain where leaves run out.

    Parameters
    ----------
    picked : ndarray
        (S,) int64, splits of nodes; -1 for none.
    gained : ndarray
        (S,) float64, by each.
    tree : ndarray
        (S,) int64, of each node.
    leaves : ndarray
        (T,) int64, that each tree may have besides.

    Returns
    -------
    ndarray
        (S,) int64; of splits that gain the same, the first nodes count.
    """
    kept = picked.copy()
    for each in np.unique(tree):
        nodes = np.flatnonzero((tree == each) & (picked >= 0))
        order = np.argsort(-gained[nodes], kind="stable")
        kept[nodes[order[leaves[each] :]]] = -1
    return kept
