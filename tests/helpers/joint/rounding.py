"""Rounding of numbers to 16 or 8 bits, by arithmetic."""

import numpy as np

from vfl_flower.common.codec import Array

BITS = {"float16": (10, -14), "bfloat16": (7, -126), "int8": (6, -120)}
"""Bits behind the first, and the least exponent of a normal number, or of a row's largest."""


def cut(x: Array, precision: str) -> Array:
    """Drop the last bits of float32 numbers."""
    by_row = precision == "int8"
    if x.dtype != np.float32 or (by_row and x.ndim < 2):
        return x
    bits, least = BITS[precision]
    sizes = np.broadcast_to(abs(x).max(-1, keepdims=True, initial=0), x.shape) if by_row else x
    exponents = np.maximum(np.frexp(sizes)[1] - 1, least) - bits
    whole = np.trunc(np.ldexp(x.astype(np.float64), -exponents))
    short: Array = np.ldexp(whole, exponents).astype(np.float32)
    return short
