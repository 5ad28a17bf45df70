"""Isotropic Gaussian noise on gradients.

The baseline of Li et al. 2021, "Label Leakage and Protection in Two-party Split Learning",
arXiv:2102.08504. With the rows g_1 ... g_B of width W,

    g_i + s max_j |g_j| / sqrt(W) N(0, I)        s: the scale

so that the noise of a row has on average s times the norm of the largest row.

Answers
    Attacks on one batch: labels read off the numbers of a row, off its norm, its direction
    (cosine) or the batch's first singular vector.
Costs
    Gradients stay unbiased and get noisier: more steps or a lower learning rate, and accuracy.
    Noise is fresh in every batch, so a row's mean over epochs has less of it; passive parties of
    split learning that collude average over theirs.
"""

import numpy as np

from vfl_flower.crypto.discrete_sampling import Entropy
from vfl_flower.privacy.gradient_defences.defence import (
    TAIL,
    Classes,
    Gradient,
    GradientDefence,
    gaussian,
    single,
)


class Isotropic(GradientDefence):
    """Gaussian noise in proportion to the batch's largest row.

    Parameters
    ----------
    scale : float
        s.
    """

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def changed(self, g: Gradient, classes: Classes, entropy: Entropy) -> Gradient:
        """See `GradientDefence`."""
        deviation = self.deviation(g)
        return single(g + deviation * gaussian(g.shape, entropy))

    def deviation(self, g: Gradient) -> float:
        """Return the noise's deviation for gradients, (B, W)."""
        norms = np.linalg.norm(g.astype(np.float64), axis=1)
        return self.scale * float(norms.max()) / float(np.sqrt(g.shape[1]))

    def growth(self, rows: int, width: int) -> float:
        """See `GradientDefence`.

        A row's norm is at most sqrt(W) times its largest number.
        """
        return 1 + TAIL * self.scale
