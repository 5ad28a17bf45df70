"""Variance of uploads over many steps, and its code of 16 bits."""

import math

import torch
from torch import Tensor

from vfl_flower.common.state import State

OCTAVE = 64
"""Codes from one power of two to the next: a code is within 0.6 percent of the variance."""

BYTES = 2  # of a code
_ONE = 1 << 15  # the code of variance 1
_MOST = (1 << 16) - 1


class RunningVariance:
    """Variance of rows that come in batches (Chan, Golub and LeVeque 1979).

    Attributes
    ----------
    count : int
        Rows so far.
    mean : Tensor
        Of each column, (D,) float64.
    squares : float
        Squared distances to the means, summed over rows and columns.
    """

    def __init__(self) -> None:
        self.count, self.mean, self.squares = 0, torch.zeros(0, dtype=torch.float64), 0.0

    def add(self, rows: Tensor) -> None:
        """Add rows, (B, ...)."""
        x = rows.detach().cpu().double().flatten(1)
        if not self.count:
            self.mean = torch.zeros(x.shape[1], dtype=torch.float64)
        mean, count = x.mean(0), self.count + len(x)
        apart = mean - self.mean
        between = float((apart**2).sum()) * self.count * len(x) / count
        self.squares += float(((x - mean) ** 2).sum()) + between
        self.mean = self.mean + apart * (len(x) / count)
        self.count = count

    @property
    def total(self) -> float:
        """Sum of the columns' variances, over all rows."""
        return self.squares / self.count if self.count else 0.0

    def state_dict(self) -> State:
        """Return count, means and squares."""
        return dict(vars(self))

    def load_state_dict(self, state: State) -> None:
        """Restore the state of `state_dict`."""
        self.count, self.mean, self.squares = state["count"], state["mean"], state["squares"]


def code_of(variance: float) -> int:
    """Return the code of a variance: its logarithm, 0 to 65535.

    Zero, and whatever is below 2**-512, is 0; the largest code stands for 2**512 and more.
    """
    if variance <= 0:
        return 0
    code = _ONE + round(OCTAVE * math.log2(variance))
    return min(max(code, 0), _MOST)


def variance_of(code: int) -> float:
    """Return the variance that a code stands for."""
    return 2.0 ** ((code - _ONE) / OCTAVE) if code else 0.0


def shares_of(codes: list[int]) -> list[float]:
    """Return each variance's share of their sum, by code.

    All are 0 where nothing varies.
    """
    variances = [*map(variance_of, codes)]
    total = math.fsum(variances)
    return [each / total if total else 0.0 for each in variances]
