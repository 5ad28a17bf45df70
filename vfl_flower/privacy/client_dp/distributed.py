"""Distributed discrete Gaussian mechanism for masked sums.

Kairouz, Liu and Steinke 2021 (arXiv:2102.06387). Of K passive parties at most t collude with the
active one, or leave out their noise; h = K - t others are honest. Party k sends, under masks that
leave the sum of all alone,

    Y_k = trunc(X_k min(1, C / |X_k|) / step)            (B, D)   whole numbers
    Y_k + n_k,  P(n) ~ exp(-n^2 / (2 s^2)),  h s^2 >= (sigma C / step)^2

with the ring's step, and the sum of the honest parties' words has noise of deviation sigma C at
least. It is added in the ring, before the masks: nobody sees a share of it. The sum of h discrete
Gaussians is nearly one (their Proposition 14): its Renyi divergence is that of the continuous
Gaussian, but for terms in

    tau = 10 sum_{j=1}^{h-1} exp(-2 pi^2 s^2 j / (j + 1))

times the upload's numbers. With s of `LEAST` steps at least it is below 10**-1000, so that a number
of 64 bits cannot hold what it would add to epsilon.
"""

import math
import os
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from torch import Tensor

from vfl_flower.common.errors import ConfigError
from vfl_flower.crypto.discrete_sampling import Entropy
from vfl_flower.crypto.fixed_point import WHOLE
from vfl_flower.privacy.client_dp.gaussian import Gaussian

LEAST, MOST = 16, 2**24
"""Deviation of a share in steps: below, sums differ from a Gaussian; above, none can be drawn."""


@dataclass(frozen=True)
class GaussianShare(Gaussian):
    """A party's share of the noise of a masked sum.

    Attributes
    ----------
    honest : int
        h, from 1.

    Raises
    ------
    ConfigError
        If the share is too small or too large for the ring.
    """

    honest: int

    def __post_init__(self) -> None:
        if not LEAST <= self.deviation <= MOST:
            low, high = (bound * self.step * math.sqrt(self.honest) for bound in (LEAST, MOST))
            change = "larger" if self.deviation < LEAST else "smaller"
            raise ConfigError(
                f"distributed noise of dp-sigma {self.sigma:g} and dp-clip {self.clip:g} does not "
                f"fit the ring: their product must be {low:g} to {high:g}; use a {change} dp-clip"
            )

    @cached_property
    def step(self) -> float:
        """The ring's step."""
        return 1 / WHOLE.scale

    @cached_property
    def deviation(self) -> int:
        """The share's deviation s in steps, rounded up."""
        squared = (Fraction(self.sigma) * Fraction(self.clip) / Fraction(self.step)) ** 2
        least = math.ceil(squared / self.honest)
        root = math.isqrt(least)
        return root if root * root == least else root + 1

    def release(self, x: Tensor, entropy: Entropy = os.urandom) -> Tensor:
        """Clip and noise one upload of any shape.

        Returns float64 of the same shape, whole steps of the ring: masks add what was drawn.
        """
        return self.noised(x, entropy)
