"""Numbers in parts, for sums under masks, which are coarse.

The ring holds multiples of 2**-16 up to 2**15 / (K + 1), and floats of 24 bits travel. A number in
parts is a whole number, then what is left of it, a power of two times as large, and so on: the sum
of each part is exact, and so is the sum of all.
"""

import math

import torch
from torch import Tensor

from vfl_flower.crypto.fixed_point import LIMIT

KEPT = 40
"""Directions that are kept, and searched together."""

FIGURES, PARTS = 2 * KEPT + 6, 4
"""Numbers that a party adds to its direction, and parts of each; see `Block.answer`."""

MARGIN = 2.0
"""Of a direction's scale below the largest row that is sent: it is chosen by the one before."""

_UNIT = 4.0
"""Largest linear predictor of a direction, about, in the unit that figures are told in."""

_SHARE = 16.0
"""Of the longest row, the part that one figure may take; all of them are shorter."""


def units_of(limit: float, rows: int) -> Tensor:
    """Return the factors by which the ring holds figures: (FIGURES,)."""
    unit = min(_UNIT, limit / _SHARE) * MARGIN / limit
    units = [unit / rows] * KEPT + [unit**2 / rows] * KEPT + [1.0] * (FIGURES - 2 * KEPT)
    return torch.tensor(units, dtype=torch.float64)


def limit_of(parties: int, bound: float | None) -> float:
    """Return the largest norm of a direction's row."""
    return min(LIMIT / parties, LIMIT if bound is None else bound) * (1 - 1e-6)


def split(figures: Tensor, limit: float) -> Tensor:
    """Write figures in parts: (n,) -> (PARTS, n).

    All are smaller than `limit` / 16.
    """
    left, parts = figures.clamp(-limit / _SHARE, limit / _SHARE), []
    for _ in range(PARTS - 1):
        parts.append(left.round())
        left = (left - parts[-1]) * finer(limit)
    return torch.stack([*parts, left])


def joined(sums: Tensor, limit: float) -> Tensor:
    """Read sums of figures in parts: (PARTS, n) -> (n,)."""
    total = torch.zeros_like(sums[0], dtype=torch.float64)
    for part in reversed(sums.double()):
        total = part + total / finer(limit)
    return total


def finer(limit: float, outputs: int = 1) -> float:
    """Return the power of two between two parts of numbers.

    Parameters
    ----------
    limit : float
        Largest norm of a row that is sent.
    outputs : int
        Numbers of such a row.
    """
    return float(2.0 ** math.floor(math.log2(limit * 2 / _SHARE / math.sqrt(outputs))))
