"""Embeddings in fewer bytes, with a stated error.

``topk:SHARE``
    Of each row of D numbers the k = ceil(SHARE D) largest by magnitude, as they are, and where they
    stand, in ceil(log2 D) bits each; the rest count as zero. The squared error of a row is the sum
    of the squares left out: at most (1 - k / D) of the row's own.
``quantize:BITS``
    Each number as one of 2**BITS levels, evenly from the message's least to its largest number. The
    error of a number is at most half the distance of two levels, (max - min) / (2**BITS - 1) / 2.
``lattice:BITS``
    Pairs of numbers as points of a hexagonal lattice; see `learning.lattice`.
``float16``
    Each number to the nearest in half precision: 11 significant bits, and nothing beyond 65504.
``none``
    As they are.

Payload bytes of B rows: 4Bk + ceil(Bk ceil(log2 D) / 8); 8 + ceil(BD BITS / 8); 8 + ceil(BITS
ceil(BD / 2) / 4); 2BD; 4BD. Numbers that are rounded anew to float32 add that rounding to the
error.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from math import ceil, prod

import numpy as np
from torch import Tensor

from vfl_flower.common.codec import Array, to_array, to_tensor
from vfl_flower.common.errors import ProtocolError
from vfl_flower.common.names import load_object
from vfl_flower.config.options.compressions import read_compression

Message = tuple[Array, ...]


def pack_bits(codes: Array, bits: int) -> Array:
    """Pack integers below 2**bits: any shape -> (n,) uint8."""
    shifts = np.arange(bits, dtype=np.uint32)
    planes = codes.reshape(-1, 1).astype(np.uint32) >> shifts & 1
    return np.packbits(planes.astype(np.uint8).ravel(), bitorder="little")


def unpack_bits(packed: Array, bits: int, count: int) -> Array:
    """Read `count` integers that `pack_bits` wrote: (n,) uint8 -> (count,) uint32."""
    planes = np.unpackbits(packed, count=bits * count, bitorder="little").reshape(count, bits)
    shifts = np.arange(bits, dtype=np.uint32)
    codes: Array = (planes.astype(np.uint32) << shifts).sum(1, dtype=np.uint32)
    return codes


class Compression(ABC):
    """One way to write embeddings of a width that both sides know.

    Parameters
    ----------
    width : int
        D.
    """

    def __init__(self, width: int) -> None:
        self.width = width

    @abstractmethod
    def compress(self, E: Tensor) -> Message:
        """Write embeddings, (B, D) float32."""

    @abstractmethod
    def layout(self, rows: int) -> list[tuple[str, tuple[int, ...]]]:
        """Return each array's dtype and shape, for B rows."""

    @abstractmethod
    def _read(self, message: Sequence[Array], rows: int) -> Array:
        """Read a message of the right layout: (B, D) float32."""

    def restore(self, message: Sequence[Array], rows: int) -> Tensor:
        """Decompress a message of B rows, with its error: (B, D) float32.

        Raises
        ------
        ProtocolError
            If it cannot have been written so.
        """
        found = [(a.dtype.str, a.shape) for a in message]
        if found != self.layout(rows):
            raise ProtocolError(
                f"compressed embeddings of {rows} rows are {found}, not {self.layout(rows)}"
            )
        return to_tensor(self._read(message, rows))


class Floats(Compression):
    """As they are, or in half precision.

    Parameters
    ----------
    width : int
        D.
    dtype : str
        ``float32`` or ``float16``.
    """

    def __init__(self, width: int, dtype: str) -> None:
        super().__init__(width)
        self.dtype = np.dtype(dtype)

    def compress(self, E: Tensor) -> Message:
        """Compress embeddings; numbers that are too large become infinity."""
        with np.errstate(over="ignore"):
            return (to_array(E).astype(self.dtype, copy=False),)

    def layout(self, rows: int) -> list[tuple[str, tuple[int, ...]]]:
        """Return each array's dtype and shape, for B rows."""
        return [(self.dtype.str, (rows, self.width))]

    def _read(self, message: Sequence[Array], rows: int) -> Array:
        return message[0].astype(np.float32, copy=False)


class TopK(Compression):
    """The largest of each row.

    Parameters
    ----------
    width : int
        D.
    share : Fraction
        Of each row, up to 1.
    """

    def __init__(self, width: int, share: Fraction) -> None:
        super().__init__(width)
        self.kept = max(ceil(share * width), 1)
        self.bits = (width - 1).bit_length()

    def compress(self, E: Tensor) -> Message:
        """Write the largest numbers and where they stand, in order of places."""
        places = E.detach().abs().topk(self.kept, 1).indices.sort(1).values
        return to_array(E.gather(1, places)), pack_bits(to_array(places), self.bits)

    def layout(self, rows: int) -> list[tuple[str, tuple[int, ...]]]:
        """Return each array's dtype and shape, for B rows."""
        count = rows * self.kept
        return [("<f4", (rows, self.kept)), ("|u1", (ceil(count * self.bits / 8),))]

    def _read(self, message: Sequence[Array], rows: int) -> Array:
        values, packed = message
        places = unpack_bits(packed, self.bits, values.size).reshape(values.shape).astype(np.int64)
        if values.size and places.max() >= self.width:
            raise ProtocolError(f"a compressed embedding has no place {places.max()}")
        E = np.zeros((rows, self.width), np.float32)
        np.put_along_axis(E, places, values, 1)
        return E


class Quantized(Compression):
    """Each number as one of 2**bits levels.

    Parameters
    ----------
    width : int
        D.
    bits : int
        1 to 16.
    """

    def __init__(self, width: int, bits: int) -> None:
        super().__init__(width)
        self.bits = bits

    def compress(self, E: Tensor) -> Message:
        """Write the range, then the levels' numbers."""
        exact = to_array(E)
        ends = np.array([exact.min(initial=np.inf), exact.max(initial=-np.inf)], np.float32)
        low, step = self._levels(ends)
        with np.errstate(invalid="ignore"):  # what is not finite stays so through the range
            codes = np.rint((exact.astype(np.float64) - low) / step) if step else 0.0 * exact
        codes = np.nan_to_num(codes).clip(0, 2**self.bits - 1)
        return ends, pack_bits(codes, self.bits)

    def layout(self, rows: int) -> list[tuple[str, tuple[int, ...]]]:
        """Return each array's dtype and shape, for B rows."""
        return [("<f4", (2,)), ("|u1", (ceil(rows * self.width * self.bits / 8),))]

    def _levels(self, ends: Array) -> tuple[float, float]:
        """Return the lowest level and the distance of two."""
        low, high = ends.astype(np.float64)
        return low, (high - low) / (2**self.bits - 1)

    def _read(self, message: Sequence[Array], rows: int) -> Array:
        low, step = self._levels(message[0])
        codes = unpack_bits(message[1], self.bits, rows * self.width)
        return (low + step * codes).astype(np.float32).reshape(rows, self.width)


def floats32(width: int, _: None) -> Floats:
    """Build the compression ``none``."""
    return Floats(width, "float32")


def floats16(width: int, _: None) -> Floats:
    """Build the compression ``float16``."""
    return Floats(width, "float16")


def compression_of(text: str, width: int) -> Compression:
    """Build the compressor that the option `compression` names, for one width."""
    spec, argument = read_compression(text)
    made: Compression = load_object(spec.build)(width, argument)
    return made


def compress_tensor(text: str, values: Tensor) -> Message:
    """Write a tensor as a table of its last dimension's width.

    A vector is one row. `restore_tensors` reads it.
    """
    return compression_of(text, values.shape[-1]).compress(values.reshape(-1, values.shape[-1]))


def tensors_layout(
    text: str, shapes: Sequence[tuple[int, ...]]
) -> list[tuple[str, tuple[int, ...]]]:
    """Return dtype and shape of each array of tensors that `compress_tensor` wrote."""
    return [
        each for *rows, width in shapes for each in compression_of(text, width).layout(prod(rows))
    ]


def restore_tensors(
    text: str, shapes: Sequence[tuple[int, ...]], message: Sequence[Array]
) -> list[Tensor]:
    """Read tensors that `compress_tensor` wrote, with their error: float32.

    Raises
    ------
    ProtocolError
        If they cannot have been written so.
    """
    restored, rest = [], list(message)
    for shape in shapes:
        *rows, width = shape
        compression = compression_of(text, width)
        each = len(compression.layout(prod(rows)))
        restored.append(compression.restore(rest[:each], prod(rows)).reshape(shape))
        rest = rest[each:]
    return restored


def relative_error(E: Tensor, restored: Tensor) -> float:
    """Return the relative squared error; 0 for zeros that stay zeros."""
    off, whole = ((x.double() ** 2).sum().item() for x in (E - restored, E))
    return off / whole if whole else off


class Mean:
    """A mean that a checkpoint keeps."""

    def __init__(self) -> None:
        self.total, self.count = 0.0, 0

    def add(self, value: float) -> None:
        """Count one more value."""
        self.total, self.count = self.total + value, self.count + 1

    @property
    def value(self) -> float:
        """The mean so far; 0 of nothing."""
        return self.total / max(self.count, 1)

    def state_dict(self) -> dict[str, float]:
        """Return sum and count."""
        return {"total": self.total, "count": self.count}

    def load_state_dict(self, state: dict[str, float]) -> None:
        """Load a `state_dict`."""
        self.total, self.count = state["total"], int(state["count"])
