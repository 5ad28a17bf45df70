"""Numbers of messages in half their bytes, or in a quarter.

``float16``
    11 significant bits, up to 65504; below 2**-14 fewer bits, and nothing below 2**-24.
``bfloat16``
    8 significant bits, and the range of float32. The bits travel as int16.
``int8``
    Each row of a matrix, or of a larger array's last axis, as whole numbers q times one power of
    two, with |q| <= 127 and its exponent e behind them, as int8::

        x = (x_1, ..., x_D)   ->   (trunc(x_1 / 2**e), ..., trunc(x_D / 2**e), e)
        e = max(floor(log2 max_i |x_i|) - 6, -126)

    (B, D) float32 travel as (B, D + 1) int8. Arrays of fewer axes travel as float32: they are
    few numbers, such as biases or accuracies.

All round towards zero. So no number grows, and every bound of numbers, rows and gradients that
holds before holds afterwards. The error is below 2**-10 or 2**-7 of a number, or with ``int8``
2**-6 of its row's largest. Numbers that were rounded stay as they are when they are rounded again.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from vfl_flower.common.codec import Array, to_array, to_tensor
from vfl_flower.common.errors import ProtocolError
from vfl_flower.config.catalog import BFLOAT16, FLOAT16, FLOAT32, INT8

_LEAST, _MOST = -126, 121
"""Exponents of int8 rows whose numbers float32 holds."""


@dataclass(frozen=True)
class Precision:
    """Format of float32 numbers in messages.

    Attributes
    ----------
    dtype : str
        In which they travel, as NumPy describes it.
    error : float
        Relative error that no number reaches, but for small ones.
    step : float
        Error of small numbers.
    write, read : callable
        To that dtype, and back to float32.
    by_row : bool
        Whether the error is relative to the largest magnitude of the row.
    largest : float
        Largest magnitude that fits.
    """

    dtype: str
    error: float
    step: float
    write: Callable[[Array], Array]
    read: Callable[[Array], Array]
    by_row: bool = False
    largest: float = float(np.finfo(np.float32).max)

    def covers(self, array: Array) -> bool:
        """Tell whether an array of numbers changes its dtype to travel."""
        return array.ndim > 1 or not self.by_row

    def losses(self, sizes: Tensor) -> Tensor:
        """Return the most that rounding takes of a row's sum, (B,).

        Parameters
        ----------
        sizes : Tensor
            (B, C) magnitudes that arrived, large against `step`.
        """
        whole = sizes.amax(1) * sizes.shape[1] if self.by_row else sizes.sum(1)
        return whole * self.lost

    @property
    def lost(self) -> float:
        """Relative error as a share of the number that arrived."""
        return self.error / (1 - self.error)


def narrowed(array: Array, precision: str) -> Array:
    """Write an array for the wire.

    Parameters
    ----------
    array : ndarray
        Any shape; other dtypes than float32 stay as they are.
    precision : {"float32", "float16", "bfloat16", "int8"}
        Of the wire.

    Raises
    ------
    ProtocolError
        If a number is not finite, or too large.
    """
    form = PRECISIONS[precision]
    if precision == FLOAT32 or array.dtype != np.float32:
        return array
    if not np.abs(array).max(initial=0) <= form.largest:  # NaN fails too
        wide = form.largest == PRECISIONS[FLOAT32].largest
        limit, other = ("", FLOAT32) if wide else (f", or beyond {form.largest:g}", BFLOAT16)
        raise ProtocolError(
            f"a number is not finite{limit}, and cannot travel as {precision}; lower the learning "
            f"rate, or set wire-precision = {other}"
        )
    return form.write(array) if form.covers(array) else array


def widened(array: Array, precision: str) -> Array:
    """Read an array off the wire; see `narrowed`.

    Raises
    ------
    ProtocolError
        If its numbers have another precision, or cannot have been written so.
    """
    form = PRECISIONS[precision]
    if precision == FLOAT32:
        return array
    expected = form.dtype if form.covers(array) else "<f4"
    if array.dtype.kind == "f" and array.dtype.str != expected:
        raise ProtocolError(f"numbers arrived as {array.dtype}, and wire-precision is {precision}")
    return form.read(array) if array.dtype.str == form.dtype else array


def as_sent(values: Tensor, precision: str) -> Tensor:
    """Return numbers as they arrive: float32 of the same shape; see `narrowed`."""
    if precision == FLOAT32:
        return values
    return to_tensor(widened(narrowed(to_array(values), precision), precision))


def _as_is(array: Array) -> Array:
    return array


def _float16(array: Array) -> Array:
    nearest = array.astype(np.float16)
    grown = np.abs(nearest.astype(np.float32)) > np.abs(array)
    return np.where(grown, np.nextafter(nearest, np.float16(0)), nearest)


def _from_float16(array: Array) -> Array:
    return array.astype(np.float32)


def _bfloat16(array: Array) -> Array:
    bits = np.asarray(array, order="C").view(np.uint32) >> 16
    return np.asarray(bits).astype(np.uint16).view(np.int16)


def _from_bfloat16(array: Array) -> Array:
    return np.asarray(array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def _int8(array: Array) -> Array:
    largest = np.abs(array).max(-1, keepdims=True, initial=0)
    exponents = np.maximum(np.frexp(largest)[1] - 7, _LEAST)
    whole = np.trunc(array * _power(-exponents))  # exact but for numbers that become 0
    return np.concatenate([whole, exponents], -1, dtype=np.int8, casting="unsafe")


def _from_int8(array: Array) -> Array:
    if array.ndim < 2 or not array.shape[-1]:
        raise ProtocolError(f"rows of int8 numbers arrived as an array of shape {array.shape}")
    whole, exponents = array[..., :-1], array[..., -1:]
    off = (exponents < _LEAST) | (exponents > _MOST)
    if off.any() or (whole == -128).any():
        raise ProtocolError("a row of int8 numbers arrived that no party can have written")
    return whole * _power(exponents.astype(np.int32))


def _power(exponents: Array) -> Array:
    """Return powers of two, float32."""
    return np.ldexp(np.float32(1), exponents)


PRECISIONS = {
    FLOAT32: Precision("<f4", 0.0, 0.0, _as_is, _as_is),
    FLOAT16: Precision("<f2", 2.0**-10, 2.0**-24, _float16, _from_float16, largest=65504.0),
    BFLOAT16: Precision("<i2", 2.0**-7, 2.0**-133, _bfloat16, _from_bfloat16),
    INT8: Precision("|i1", 2.0**-6, 2.0**-126, _int8, _from_int8, by_row=True),
}
"""Formats by the option `wire-precision`."""
