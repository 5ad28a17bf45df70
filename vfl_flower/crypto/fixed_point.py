"""Fixed-point numbers in a ring Z/2**n, which additive masks hide perfectly.

A word w stands for the signed n-bit number w, divided by 2**f. Adding words wraps; the sum of K
numbers is right as long as it fits, so each may be smaller than 2**(n - 1 - f) / K only.

A number within a bound b with noise of deviation s, which has Gaussian tails, is within b + 10 s
but for a chance of 2 exp(-50) < 4e-22. So a number of a sum of K wraps with a chance below 4e-22 K.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vfl_flower.common.errors import BlindingError
from vfl_flower.config.options.privacy import LEAST_STEPS, MOST_NARROW

Words = NDArray[np.unsignedinteger]

_DEVIATIONS = 10  # of noise that words hold

_SLACK = 1e-3
"""Share of a bound that rounding in float32 stays well below."""


@dataclass(frozen=True)
class Ring:
    """Words of some bits, so many of them behind the point.

    Attributes
    ----------
    bits : int
        n, 16 or 32.
    fraction : int
        f.
    """

    bits: int = 32
    fraction: int = 16

    @classmethod
    def halved(cls, bound: float, summands: int) -> "Ring":
        """Return the finest ring of 16 bits that holds a sum.

        Parameters
        ----------
        bound : float
            Largest magnitude of a summand.
        summands : int
            How many there are, each with its weight.

        Raises
        ------
        BlindingError
            If so many leave too few steps to each.
        """
        if summands > MOST_NARROW:
            raise BlindingError(
                f"a sum of {summands} numbers in 16 bits leaves fewer than {LEAST_STEPS} steps to "
                "each; set wire-precision = float32"
            )
        room = 2.0**15 / summands - 1  # each is rounded by half a step, at most
        return cls(16, math.floor(math.log2(room / (bound * (1 + _SLACK)))))

    @property
    def scale(self) -> float:
        """Steps from 0 to 1."""
        return 2.0**self.fraction

    @property
    def limit(self) -> float:
        """Magnitude that no sum may reach."""
        return 2.0 ** (self.bits - 1 - self.fraction)

    @property
    def dtype(self) -> np.dtype[np.unsignedinteger]:
        """Dtype of the words."""
        return np.dtype(f"<u{self.bits // 8}")


WHOLE = Ring()
"""The ring of 32 bits, which needs no bound to be chosen."""

SCALE, LIMIT = WHOLE.scale, WHOLE.limit


def ring_of(narrow: bool, bound: float | None, summands: int, noise: float = 0.0) -> Ring:
    """Return the ring of a sum, which all parties choose alike.

    Parameters
    ----------
    narrow : bool
        Whether it is of 16 bits.
    bound : float or None
        Largest magnitude of a summand, if there is one.
    summands : int
        How many there are, each with its weight.
    noise : float
        Deviation of the noise on each, if it has any.

    Raises
    ------
    BlindingError
        If it is to be of 16 bits, and there is no bound, or too many to be summed.
    """
    if not narrow:
        return WHOLE
    if bound is None:
        raise BlindingError("words of 16 bits need an embedding-bound, and there is none")
    return Ring.halved(bound + _DEVIATIONS * noise, summands)


def encode_ring(x: Tensor, summands: int, ring: Ring = WHOLE, *, wraps: bool = False) -> Words:
    """Write real numbers as ring words.

    Parameters
    ----------
    x : Tensor
        Any shape, float32 or float64.
    summands : int
        How many such arrays will be added.
    ring : Ring
        Of the words.
    wraps : bool
        Whether finite values may wrap, because a refusal would say more than the sum does.

    Returns
    -------
    ndarray of uint32 or uint16
        Same shape.

    Raises
    ------
    BlindingError
        If a value is not finite, or so large that the sum could overflow. The text names the
        limit, not the value, which is the party's own.
    """
    rounded = torch.round(x.detach() * ring.scale)
    limit = math.inf if wraps else ring.limit / summands
    lowest, highest = torch.aminmax(rounded) if x.numel() else (rounded.new_zeros(()),) * 2
    if not (-limit * ring.scale < lowest and highest < limit * ring.scale):  # NaN fails too
        raise BlindingError(
            f"an embedding has values at or beyond ±{limit:g} (or not finite), the limit for a sum "
            f"of {summands} in the ring; set embedding-bound below it, or lower the learning rate"
        )
    if wraps:
        return rounded.to(torch.int64).numpy().astype(ring.dtype)
    words: Words = rounded.to(torch.int32).numpy().view(np.uint32)
    return words.astype(ring.dtype, copy=False)


def decode_ring(words: Words, ring: Ring = WHOLE) -> Tensor:
    """Read ring words of any shape back: float32, rounded once."""
    signed = words.view(f"<i{ring.bits // 8}")
    return torch.from_numpy(signed).to(torch.float32) / ring.scale
