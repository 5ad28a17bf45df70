"""Numbers of messages in half their bytes.

``float16``
    11 significant bits, up to 65504; below 2**-14 fewer bits, and nothing below 2**-24.
``bfloat16``
    8 significant bits, and the range of float32. The bits travel as int16.

Both round towards zero. So no number grows, and every bound of numbers, rows and gradients that
holds before holds afterwards. The relative error is below 2**-10, or 2**-7.
"""

import numpy as np
from torch import Tensor

from vfl_flower.common.codec import Array, to_array, to_tensor
from vfl_flower.common.errors import ProtocolError
from vfl_flower.config.catalog import BFLOAT16, FLOAT16, FLOAT32

DTYPES = {FLOAT32: "<f4", FLOAT16: "<f2", BFLOAT16: "<i2"}
"""Dtype in which numbers of a precision travel."""

ERRORS = {FLOAT32: 0.0, FLOAT16: 2.0**-10, BFLOAT16: 2.0**-7}
"""Relative error that no number reaches, but for small ones."""

STEPS = {FLOAT32: 0.0, FLOAT16: 2.0**-24, BFLOAT16: 2.0**-133}
"""Error of small numbers."""


def narrowed(array: Array, precision: str) -> Array:
    """Write an array for the wire.

    Parameters
    ----------
    array : ndarray
        Any shape; other dtypes than float32 stay as they are.
    precision : {"float32", "float16", "bfloat16"}
        Of the wire.

    Raises
    ------
    ProtocolError
        If a number is not finite, or too large.
    """
    if precision == FLOAT32 or array.dtype != np.float32:
        return array
    narrow = _float16(array) if precision == FLOAT16 else _bfloat16(array)
    if not np.isfinite(widened(narrow, precision)).all():
        limit = f", or beyond {np.finfo(np.float16).max:g}" if precision == FLOAT16 else ""
        raise ProtocolError(
            f"a number is not finite{limit}, and cannot travel as {precision}; lower the learning "
            f"rate, or set wire-precision = {BFLOAT16 if limit else FLOAT32}"
        )
    return narrow


def widened(array: Array, precision: str) -> Array:
    """Read an array off the wire; see `narrowed`.

    Raises
    ------
    ProtocolError
        If its numbers have another precision.
    """
    if precision == FLOAT32:
        return array
    if array.dtype.kind == "f" and array.dtype.str != DTYPES[precision]:
        raise ProtocolError(f"numbers arrived as {array.dtype}, and wire-precision is {precision}")
    if array.dtype.str != DTYPES[precision]:
        return array
    if precision == FLOAT16:
        return array.astype(np.float32)
    return np.asarray(array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def as_sent(values: Tensor, precision: str) -> Tensor:
    """Return numbers as they arrive: float32 of the same shape; see `narrowed`."""
    if precision == FLOAT32:
        return values
    return to_tensor(widened(narrowed(to_array(values), precision), precision))


def _float16(array: Array) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        nearest = array.astype(np.float16)
        grown = np.abs(nearest.astype(np.float32)) > np.abs(array)
    return np.where(grown & np.isfinite(nearest), np.nextafter(nearest, np.float16(0)), nearest)


def _bfloat16(array: Array) -> Array:
    bits = np.asarray(array, order="C").view(np.uint32) >> 16
    return np.asarray(bits).astype(np.uint16).view(np.int16)
