"""Weights of residuals' rows, by linear inequalities.

A row of residuals arrives as s, wrong by E at most, where w (m - t) was meant: w its weight, m its
means, known up to r, and t its target. So limits of a target are limits of w, entry by entry: with
t in [a, b]

    (m - a + r) w >= s - E,    (b - m + r) w >= -s - E
"""

from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor


@dataclass(frozen=True)
class UnknownWeights:
    """Rows of residuals whose weights are to be found.

    Attributes
    ----------
    scaled, means : Tensor
        s and m, (B, C) each, float64.
    rounding, lost : Tensor
        r and E, (B, 1) each.
    least, most : float
        Of w.
    """

    scaled: Tensor
    means: Tensor
    rounding: Tensor
    lost: Tensor
    least: float
    most: float

    def summed(self) -> Self:
        """Append each row's sum as one more entry, and errors alike."""
        own = (self.scaled, self.means, self.rounding, self.lost)
        s, m, r, E = (summed(each.expand_as(self.means)) for each in own)
        return replace(self, scaled=s, means=m, rounding=r, lost=E)

    def limits(self, least: Tensor, most: Tensor) -> tuple[Tensor, Tensor]:
        """Return the limits of w by those of each target.

        (B, C) each, the least and the largest; infinite where there is none.
        """
        s, m, r, E = self.scaled, self.means, self.rounding, self.lost
        one, other = _solved(m - least + r, s - E), _solved(most - m + r, -s - E)
        return torch.maximum(one[0], other[0]), torch.minimum(one[1], other[1])

    def middle(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        """Return w amid its limits, and their distance.

        It is negative where there is no such w.
        """
        low, high = low.clamp(min=self.least), high.clamp(max=self.most)
        return ((low + high) / 2).clamp(self.least, self.most), high - low


def summed(rows: Tensor) -> Tensor:
    """Append its sum to each row, in float64.

    (B, C) -> (B, C + 1).
    """
    rows = rows.double()
    return torch.cat([rows, rows.sum(1, keepdim=True)], 1)


def _solved(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Return the least and the largest w with a w >= b."""
    end = b / torch.where(a == 0, 1.0, a)
    return end.where(a > 0, -torch.inf), end.where(a < 0, torch.inf)
