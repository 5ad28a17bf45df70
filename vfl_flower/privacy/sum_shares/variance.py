"""Typical variance of many uploads, and its code of 16 bits."""

import math

from torch import Tensor

from vfl_flower.common.state import State

OCTAVE = 64
"""Codes from one power of two to the next: a code is within 0.6 percent of the variance."""

LEAST, LARGEST = 2.0**-64, 2.0**512
"""Limits of an upload's variance in a mean: one whose rows are alike has the least."""

BYTES = 2  # of a code
_ONE = 1 << 15  # the code of variance 1
_MOST = (1 << 16) - 1


class TypicalVariance:
    """Geometric mean of the variances of uploads, each about its own means.

    How far uploads of different steps are apart does not count: an upload whose rows are all alike
    hides nothing, however much it moves from step to step. A wild one is only one of many.

    Attributes
    ----------
    count : int
        Uploads so far.
    logarithms : float
        Sum of the binary logarithms of their variances, summed over columns.
    """

    def __init__(self) -> None:
        self.count, self.logarithms = 0, 0.0

    def add(self, rows: Tensor) -> None:
        """Add an upload, (B, ...)."""
        x = rows.detach().cpu().double().flatten(1)
        variance = float(x.var(0, correction=0).sum())
        self.logarithms += math.log2(_limited(variance))
        self.count += 1

    @property
    def value(self) -> float:
        """The mean; 0 before the first upload."""
        return 2.0 ** (self.logarithms / self.count) if self.count else 0.0

    def state_dict(self) -> State:
        """Return count and logarithms."""
        return dict(vars(self))

    def load_state_dict(self, state: State) -> None:
        """Restore the state of `state_dict`."""
        self.count, self.logarithms = state["count"], state["logarithms"]


def _limited(variance: float) -> float:
    """Return a variance that has a logarithm; no number is large."""
    if math.isnan(variance):
        return LARGEST
    return min(max(variance, LEAST), LARGEST)


def code_of(variance: float) -> int:
    """Return the code of a variance: its logarithm, 0 to 65535.

    Zero, and whatever is below 2**-512, is 0; the largest code stands for 2**512 and more, and for
    what is no number.
    """
    if variance <= 0:
        return 0
    if not math.isfinite(variance):
        return _MOST
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
