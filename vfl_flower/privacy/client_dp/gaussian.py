"""Discrete Gaussian mechanism for clipped uploads, whole or row by row.

The clipped upload is put on a grid and noised in whole steps.

    X            (B, D)   what a party would send of B rows
    Y = trunc(X min(1, C / |X|) / step)                  (B, D)   whole numbers, |Y| step <= C
    X' = (Y + n) step,  P(n) ~ exp(-n^2 / (2 s^2))       (B, D)   what it sends, float32

|X| is the Frobenius norm, C the clip, s >= sigma C / step a whole number and step a power of two
that makes s a million or two. Of an X that is not finite Y is zero. Adjacency is zero-out: without
the party's contribution Y is zero, and the two differ by C at most, so an upload satisfies Renyi
differential privacy of alpha / (2 sigma^2) at every order alpha, as with continuous noise
(Canonne, Kamath and Steinke 2020, arXiv:2004.00010). The mechanism for rows clips each row of X
to C in Euclidean norm in place of the whole; without the contribution of one row that row of Y is
zero, and the sensitivity is C again.

Noise drawn as floating-point numbers could give the clipped values away by its last bits (Mironov
2012). Whole numbers have no such bits, and the sum is a float32 exactly up to eight deviations;
what is rounded beyond is rounded after the noise.
"""

import math
import os
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from vfl_flower.crypto.discrete_gaussian import discrete_gaussian
from vfl_flower.crypto.discrete_sampling import Entropy, Integers

FINENESS = 20
"""The deviation is at least 2**FINENESS steps, and at most twice that."""

_LESS = 1 - 2.0**-FINENESS
"""What a scale is multiplied by that rounding has made too large: one step, if not less."""


@dataclass(frozen=True)
class Gaussian:
    """Discrete Gaussian mechanism with clipping in norm.

    Attributes
    ----------
    sigma : float
        The noise multiplier: deviation over sensitivity.
    clip : float
        C, the sensitivity under zero-out adjacency of the whole upload, or of one of its rows.
    by_row : bool
        Whether each row is clipped, and not the whole upload.
    """

    sigma: float
    clip: float
    by_row: bool = field(default=False, kw_only=True)

    @cached_property
    def step(self) -> float:
        """The grid's step, a power of two."""
        return math.ldexp(1.0, math.frexp(self.sigma * self.clip)[1] - 1 - FINENESS)

    @cached_property
    def deviation(self) -> int:
        """The noise's deviation s in steps, rounded up."""
        return math.ceil(Fraction(self.sigma) * Fraction(self.clip) / Fraction(self.step))

    @property
    def width(self) -> float:
        """The noise's deviation in each number."""
        return self.deviation * self.step

    def release(self, x: Tensor, entropy: Entropy = os.urandom) -> Tensor:
        """Clip and noise one upload of any shape.

        Returns float32 of the same shape.
        """
        return self.noised(x, entropy).float()

    def noised(self, x: Tensor, entropy: Entropy) -> Tensor:
        """Clip and noise one upload; float64, exact."""
        steps = self.clipped(x)
        noise = discrete_gaussian(self.deviation, steps.size, entropy).reshape(steps.shape)
        return torch.from_numpy((steps + noise) * self.step)

    def clipped(self, x: Tensor) -> Integers:
        """Return Y, of norm C at most, whole or by row.

        It is zero where one value of `x`, or of the row, is not finite, as if the party had
        contributed nothing: a refusal would be an answer that no noise covers.
        """
        values = x.detach().cpu().double()
        units = values.flatten(1) if self.by_row else values.reshape(1, -1)
        norms = units.norm(dim=1, keepdim=True)  # of float32 values, which do not overflow here
        if not norms.isfinite().all():
            units = units.where(norms.isfinite(), 0.0)
            norms = norms.where(norms.isfinite(), 0.0)
        factors = self.clip / norms.clamp(min=self.clip) / self.step  # which is a power of two
        most = math.floor((Fraction(self.clip) / Fraction(self.step)) ** 2)
        while True:
            steps: Integers = (units * factors).to(torch.int64).numpy()  # towards zero
            over = torch.from_numpy(np.einsum("ij,ij->i", steps, steps) > most)[:, None]
            if not over.any():
                return steps.reshape(x.shape)
            factors = factors.where(~over, factors * _LESS)
