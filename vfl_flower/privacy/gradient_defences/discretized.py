"""Gradients rounded to a few levels.

DiscreteSGD of Fu et al. 2022, "Label Inference Attacks Against Vertical Federated Learning", USENIX
Security: with mean m and deviation d of all numbers of the array, N levels lie evenly in

    [m - 2 d, m + 2 d]

both ends included, and each number becomes the nearest one.

Answers
    Model completion and learning from a few known labels, which use a row's exact numbers, and
    little of those: what a number says roughly, it still says. A residual's sign still tells the
    class, and with it the label.
Costs
    Bias, at most half a distance of levels for numbers inside the interval, all that lies beyond
    for others. A label's entry of a residual often does lie beyond.
"""

import numpy as np

from vfl_flower.crypto.discrete_sampling import Entropy
from vfl_flower.privacy.gradient_defences.defence import (
    Classes,
    Gradient,
    GradientDefence,
    single,
)


class Discretized(GradientDefence):
    """Rounding to evenly spaced levels within two deviations of the mean.

    Parameters
    ----------
    levels : float
        N, a whole number from 2.
    """

    def __init__(self, levels: float) -> None:
        self.levels = int(levels)

    def changed(self, g: Gradient, classes: Classes, entropy: Entropy) -> Gradient:
        """See `GradientDefence`."""
        exact = g.astype(np.float64)
        deviation = exact.std()
        if deviation == 0:
            return g
        low, step = exact.mean() - 2 * deviation, 4 * deviation / (self.levels - 1)
        number = np.rint((exact - low) / step).clip(0, self.levels - 1)
        return single(low + step * number)

    def growth(self, rows: int, width: int) -> float:
        """See `GradientDefence`.

        m^2 + d^2 is a mean of squares, so |m| + 2 d is at most sqrt(5) times the largest number.
        """
        return float(np.sqrt(5))
