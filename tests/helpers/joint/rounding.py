"""Rounding of numbers to 16 bits, by arithmetic."""

import numpy as np

from vfl_flower.common.codec import Array

BITS = {"float16": (10, -14), "bfloat16": (7, -126)}
"""Bits behind the first, and the least exponent of a normal number."""


def cut(x: Array, precision: str) -> Array:
    """Drop the last bits of float32 numbers."""
    if x.dtype != np.float32:
        return x
    bits, least = BITS[precision]
    exponents = np.maximum(np.frexp(x)[1] - 1, least) - bits
    whole = np.trunc(np.ldexp(x.astype(np.float64), -exponents))
    short: Array = np.ldexp(whole, exponents).astype(np.float32)
    return short
