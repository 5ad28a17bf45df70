"""Pairs of numbers as points of the hexagonal lattice A2.

``lattice:BITS``
    Two numbers that follow each other in a row are a point of the plane, and become the nearest of
    at most 4**BITS points of a lattice: `down` lines of `across` points, s apart, every other line
    s / 2 to the right. The points cover the square from the message's least to its largest number
    in both directions. The distance of a point of the square to the nearest one, and with it the
    error of a number, is at most s / sqrt(3), where

        s = (max - min) / min(across - 1/2, (down - 1) sqrt(3) / 2 + 1 / sqrt(3))

    with the numbers of lines and points that make s least. Where pairs lie evenly in the square,
    the mean squared error of a number is 5 s**2 / 72.

Payload bytes of B rows: 8 + ceil(BITS ceil(BD / 2) / 4). Of an odd number of numbers the last has
no partner; where D is odd, pairs reach from row to row.

The lattice is the one of Castiglia et al. 2022 (arXiv:2206.08330, experiments). Their program does
not count its points; here they are counted, so that a code fits its bits.
"""

from collections.abc import Sequence
from functools import cache
from math import ceil, sqrt

import numpy as np
from torch import Tensor

from vfl_flower.common.codec import Array, to_array
from vfl_flower.common.errors import ProtocolError
from vfl_flower.learning.compression import Compression, Message, pack_bits, unpack_bits

_HIGH = sqrt(3) / 2  # of a line above the one below, in units of s


@cache
def lattice_of(bits: int) -> tuple[int, int, float]:
    """Return the finest lattice of at most 4**bits points.

    Points of a line, lines, and the covered square's side in units of s.
    """
    across = np.arange(1, 4**bits + 1)
    down = 4**bits // across
    side = np.minimum(across - 0.5, (down - 1) * _HIGH + 1 / sqrt(3))
    best = int(side.argmax())
    return int(across[best]), int(down[best]), float(side[best])


class Lattice(Compression):
    """Each pair of numbers as one of 4**bits lattice points, at most.

    Parameters
    ----------
    width : int
        D.
    bits : int
        Of a number, 1 to 8; a pair has twice as many.
    """

    def __init__(self, width: int, bits: int) -> None:
        super().__init__(width)
        self.bits = bits
        self.across, self.down, self.side = lattice_of(bits)
        self.first = (self.side - (self.down - 1) * _HIGH) / 2  # height of the first line

    def compress(self, E: Tensor) -> Message:
        """Write the range, then the points' numbers."""
        exact = to_array(E)
        ends = np.array([exact.min(initial=np.inf), exact.max(initial=-np.inf)], np.float32)
        low, step = self._scale(ends)
        pairs = np.full((ceil(exact.size / 2), 2), low)
        pairs.ravel()[: exact.size] = exact.ravel()
        with np.errstate(invalid="ignore"):  # what is not finite stays so through the range
            scaled = (pairs - low) / step if step else np.zeros_like(pairs)
        return ends, pack_bits(self._nearest(np.nan_to_num(scaled)), 2 * self.bits)

    def layout(self, rows: int) -> list[tuple[str, tuple[int, ...]]]:
        """Return each array's dtype and shape, for B rows."""
        pairs = ceil(rows * self.width / 2)
        return [("<f4", (2,)), ("|u1", (ceil(2 * pairs * self.bits / 8),))]

    def _scale(self, ends: Array) -> tuple[float, float]:
        """Return the least number and s."""
        low, high = ends.astype(np.float64)
        return low, (high - low) / self.side

    def _nearest(self, pairs: Array) -> Array:
        """Return nearest points' numbers: (n, 2) -> (n,).

        Coordinates are in units of s. Lines of even and of odd number are a rectangular grid each,
        where coordinates are rounded by themselves; the nearer of the two is the nearest of all.
        """
        codes: list[Array] = []
        distances: list[Array] = []
        for odd in (0, 1):
            lines = (self.down + 1 - odd) // 2
            place = np.rint(pairs[:, 0] - odd / 2).clip(0, self.across - 1)
            line = np.rint((pairs[:, 1] - self.first - odd * _HIGH) / (2 * _HIGH))
            codes.append((2 * line.clip(0, lines - 1) + odd) * self.across + place)
            distances.append(((self._points(codes[-1]) - pairs) ** 2).sum(1))
        nearest: Array = np.where(distances[0] <= distances[1], *codes)
        return nearest

    def _points(self, codes: Array) -> Array:
        """Return points by number: (n,) -> (n, 2) in units of s."""
        line, place = np.divmod(codes, self.across)
        return np.stack([place + line % 2 / 2, self.first + line * _HIGH], 1)

    def _read(self, message: Sequence[Array], rows: int) -> Array:
        ends, packed = message
        count = rows * self.width
        codes = unpack_bits(packed, 2 * self.bits, ceil(count / 2)).astype(np.int64)
        if codes.size and codes.max() >= self.across * self.down:
            raise ProtocolError(f"a compressed embedding has no lattice point {codes.max()}")
        if codes.size and ends[0] > ends[1]:
            raise ProtocolError("a compressed embedding's least number is above its largest")
        low, step = self._scale(ends)
        with np.errstate(invalid="ignore"):
            pairs = low + step * self._points(codes)
            E: Array = pairs.ravel()[:count].astype(np.float32).clip(*ends)
        return E.reshape(rows, self.width)
