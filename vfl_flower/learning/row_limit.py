"""Largest norm of a decoded sum's rows under `embedding-bound`.

    |sum_k W_k E_k|  <=  sum_k W_k b  +  rounding  +  tail of the noise

With K parties and W_k = 1, a party that sends random words makes a row of the sum uniform in a cube
of side 2**16, in d dimensions. The row stays within a norm L with probability V_d (L / 2**16)**d,
V_d the volume of the unit ball: below 2 * 10**-31 for d = 10, K = 3 and b = 16, and that to the
power of B for a batch of B rows. A lie within the bound cannot be told from the truth.
In a ring of 16 bits the side is 2**16 of its steps, which is little more than 2 L.

Noise of client-level privacy is sub-Gaussian in each number, so a row of d numbers that K parties
noised with deviation s exceeds s sqrt(K) (sqrt(d) + sqrt(2 t)) with probability exp(-t) at most
(Hsu, Kakade and Zhang 2012, arXiv:1110.2842). `FAILURE` is that of all rows of a sum together.
"""

import math
from dataclasses import dataclass

from torch import Tensor

from vfl_flower.crypto.fixed_point import Ring, ring_of
from vfl_flower.learning.row_norms import exceeds

FAILURE = 2.0**-40
"""Probability that the noise of honest parties takes a sum above the limit."""


@dataclass(frozen=True)
class RowLimit:
    """Bound of each party's rows, and the noise on top.

    Attributes
    ----------
    bound : float
        `embedding-bound`.
    noise : float
        Deviation of the noise in each number that a party sends.
    narrow : bool
        Whether sums are in a ring of 16 bits.
    """

    bound: float
    noise: float = 0.0
    narrow: bool = False

    def ring(self, weight: int) -> Ring:
        """Return the ring of a sum of some weight."""
        return ring_of(self.narrow, self.bound, weight, self.noise)

    def of_sum(self, rows: int, width: int, parties: int, weight: int) -> float:
        """Return the limit of one row of a sum.

        Parameters
        ----------
        rows, width : int
            Shape of the sum.
        parties : int
            How many were added.
        weight : int
            The sum of their weights.
        """
        rounding = weight * math.sqrt(width) / (2 * self.ring(weight).scale)
        t = math.log(max(rows, 1) / FAILURE)
        tail = self.noise * math.sqrt(parties) * (math.sqrt(width) + math.sqrt(2 * t))
        return weight * self.bound + rounding + tail

    def exceeded(self, rows: Tensor, parties: int, weight: int) -> bool:
        """Tell whether a row of a sum exceeds the limit.

        Parameters
        ----------
        rows : Tensor
            The sum, (B, D).
        parties, weight : int
            See `of_sum`.
        """
        return exceeds(rows, self.of_sum(len(rows), rows.shape[1], parties, weight))
