"""Bounds of a node's values, and constraints of its candidates."""

from dataclasses import dataclass

import numpy as np

from vfl_flower.common.codec import Array


@dataclass(frozen=True, eq=False)
class Within:
    """Bounds of a node's values, and constraints of its candidates.

    Attributes
    ----------
    low, high : float or ndarray
        Least and largest value.
    signs : ndarray
        (M,) int8, of the candidates: 1 rising, -1 falling, 0 neither; or one for all of them.
    """

    low: float | Array
    high: float | Array
    signs: Array

    @property
    def free(self) -> bool:
        """Whether values may be anything."""
        return bool(np.isinf(self.low).all() and np.isinf(self.high).all())


FREE = Within(-np.inf, np.inf, np.zeros(1, np.int8))
"""Any value, any candidate."""
