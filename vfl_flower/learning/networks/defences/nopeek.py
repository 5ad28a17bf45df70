"""NoPeek: embeddings that depend less on columns.

Vepakomma et al. 2020, "NoPeek: Information leakage reduction to share activations in distributed
deep learning", arXiv:2008.09161. The penalty is the distance correlation (Székely et al. 2007) of a
batch's columns and embeddings. With a_ij = |x_i - x_j|, b_ij = |E_i - E_j|, and A and B the same
less their means of rows and of columns, plus the mean of all,

    P = sqrt(mean(A B) / sqrt(mean(A A) mean(B B)))               from 0 to 1

Answers
    Decoders, a regression from embeddings to columns: it finds less of them, as far as training
    came to a lower P. The first embeddings are not defended at all, and so neither against whoever
    knows the initial weights. Nothing says that a better decoder finds no more.
Costs
    Accuracy, with the weight. B^2 distances a step, in memory too. P of few rows is far from that
    of many, and a batch of one row has none. Where logits are sent, what is said is of the
    embedding behind them.
"""

import torch
from torch import Tensor

from vfl_flower.learning.networks.defences.defence import EmbeddingDefence, penalised

_LEAST = 1e-12  # of a squared correlation, whose root has a slope there


class NoPeek(EmbeddingDefence):
    """An embedding net that descends L times a distance correlation."""

    def forward(self, x: Tensor) -> Tensor:
        """See `EmbeddingDefence`."""
        E: Tensor = self.embed(x)
        return penalised(E, self.argument * distance_correlation(x, E)) if self.training else E


def distance_correlation(x: Tensor, E: Tensor) -> Tensor:
    """Return the distance correlation of some rows' columns and embeddings.

    Parameters
    ----------
    x, E : Tensor
        (B, ...) and (B, D).

    Returns
    -------
    Tensor
        A number from 0 to 1; 0 where all rows of either are equal.
    """
    A, B = (_centred(_distances(each.float().flatten(1))) for each in (x, E))
    variances = (A * A).mean() * (B * B).mean()
    if not variances > 0:
        return E.new_zeros(())
    return ((A * B).mean() / variances.sqrt()).clamp_min(_LEAST).sqrt()


def _distances(rows: Tensor) -> Tensor:
    """Return Euclidean distances: (B, n) -> (B, B)."""
    return torch.cdist(rows, rows, compute_mode="donot_use_mm_for_euclid_dist")


def _centred(a: Tensor) -> Tensor:
    """Take means of rows and columns off: (B, B), either way."""
    return a - a.mean(0) - a.mean(1, keepdim=True) + a.mean()
