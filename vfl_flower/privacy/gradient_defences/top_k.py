"""Gradients of which only the largest numbers are sent.

Gradient compression as a defence, of Fu et al. 2022, "Label Inference Attacks Against Vertical
Federated Learning", USENIX Security: of the B W numbers of an array the ceil(r B W) of the largest
magnitude stay as they are, of equal ones the first, and the others become 0.

Answers
    Model completion and learning from a few known labels, as far as those need the small numbers.
    It keeps the large ones, so *labels can still be read off residuals, norms and directions*.
Costs
    Bias: rows with small gradients teach nothing while others' are large.
"""

import math

import numpy as np

from vfl_flower.crypto.discrete_sampling import Entropy
from vfl_flower.privacy.gradient_defences.defence import Classes, Gradient, GradientDefence


class TopK(GradientDefence):
    """Zeros in the place of all but the largest numbers.

    Parameters
    ----------
    share : float
        r, between 0 and 1.
    """

    def __init__(self, share: float) -> None:
        self.share = share

    def changed(self, g: Gradient, classes: Classes, entropy: Entropy) -> Gradient:
        """See `GradientDefence`."""
        kept = np.argsort(-np.abs(g), axis=None, kind="stable")[: math.ceil(self.share * g.size)]
        sparse = np.zeros_like(g)
        sparse.flat[kept] = g.flat[kept]
        return sparse

    def growth(self, rows: int, width: int) -> float:
        """See `GradientDefence`."""
        return 1.0
