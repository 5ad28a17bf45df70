"""Fixed-point numbers in the ring Z/2**32, which additive masks hide perfectly.

A word w stands for the signed 32-bit number w, divided by 2**16. Adding words wraps; the sum of K
numbers is right as long as it fits, so each may be smaller than 2**15 / K only.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vfl_flower.common.errors import BlindingError

_FRACTION_BITS = 16
SCALE = 1 << _FRACTION_BITS
LIMIT = float(1 << (31 - _FRACTION_BITS))

Words = NDArray[np.uint32]


def encode_ring(x: Tensor, summands: int) -> Words:
    """Write real numbers as ring words.

    Parameters
    ----------
    x : Tensor
        Any shape, float32.
    summands : int
        How many such arrays will be added.

    Returns
    -------
    ndarray of uint32
        Same shape.

    Raises
    ------
    BlindingError
        If a value is not finite, or so large that the sum could overflow. The text names the
        limit, not the value, which is the party's own.
    """
    rounded = torch.round(x.detach() * SCALE)
    limit = LIMIT / summands
    lowest, highest = torch.aminmax(rounded) if x.numel() else (rounded.new_zeros(()),) * 2
    if not (-limit * SCALE < lowest and highest < limit * SCALE):  # NaN fails too
        raise BlindingError(
            f"an embedding has values at or beyond ±{limit:g} (or not finite), the limit for a sum "
            f"of {summands} in the ring; lower the learning rate or scale the network's output"
        )
    words: Words = rounded.to(torch.int32).numpy().view(np.uint32)
    return words


def decode_ring(words: Words) -> Tensor:
    """Read ring words back: uint32 of any shape to float32, rounded once."""
    return torch.from_numpy(words.view(np.int32)).to(torch.float32) / SCALE
