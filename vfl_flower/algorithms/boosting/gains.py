"""Best splits of a layer's nodes, and values of leaves.

Of a node with sum of gradients G and of hessians H, which a split makes L and R (Chen and Guestrin
2016, arXiv:1603.02754):

    gain  = G_L^2 / (H_L + lambda) + G_R^2 / (H_R + lambda) - G^2 / (H + lambda)
    value = -G / (H + lambda)
"""

from dataclasses import dataclass

import numpy as np

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

    def term(self, G: Array, H: Array) -> Array:
        """Return G^2 / (H + lambda), or 0 without a weight."""
        weight = H + self.l2
        made: Array = np.divide(G * G, weight, out=np.zeros_like(weight), where=weight > 0)
        return made

    def value(self, G: Array, H: Array) -> Array:
        """Return the value of leaves."""
        weight = H + self.l2
        made: Array = np.divide(-G, weight, out=np.zeros_like(weight), where=weight > 0)
        return made

    def best(self, left: Array, total: Array) -> Array:
        """Choose a split for each node, the first of equal ones.

        Parameters
        ----------
        left : ndarray
            (S, M, 2) float64, G_L and H_L of every candidate.
        total : ndarray
            (S, 2), G and H.

        Returns
        -------
        ndarray
            (S,) int64, the candidate's number; -1 where none gains.
        """
        if not left.shape[1]:
            return np.full(len(left), -1)
        right = total[:, None] - left
        own = self.term(total[:, 0], total[:, 1])
        gain = self.term(left[..., 0], left[..., 1]) + self.term(right[..., 0], right[..., 1])
        gain -= own[:, None]
        allowed = np.minimum(left[..., 1], right[..., 1]) >= max(self.least_child, 1e-300)
        gain[~allowed] = -np.inf
        number: Array = gain.argmax(1)
        gains = np.take_along_axis(gain, number[:, None], 1)[:, 0]
        return np.where(gains > _LEAST_GAIN * own, number, -1)
