"""MID: embeddings with little information on columns.

Zou et al. 2023, "Mutual information regularization for vertical federated learning",
arXiv:2301.01142, where passive parties defend their columns: a variational bottleneck at the
embedding. The network says mean and variance, and in training a sample is sent:

    mean = h_k(x_k),  log var = W mean + b                                (B, D)
    E_k = mean + sqrt(var) z,  z ~ N(0, I)
    P = mean over rows of KL(N(mean, var) || N(0, I))
      = mean over rows of sum over D of (var + mean^2 - 1 - log var) / 2

P bounds the mutual information of columns and samples from above. W and b start at 0, so the
variance at 1. z is drawn from the party's own randomness.

*In evaluation and prediction the mean is sent, without noise*, and so it is by methods whose
parties train by themselves and send embeddings afterwards: there P alone acts, as a regulariser,
and bounds nothing. Published programs of it have a layer before the bottleneck and one behind; here
h_k is the one, and the next network the other.

Answers
    Decoders and inversion of what is sent in training, for z hides what is smaller than itself; and
    inversion by known initial weights, if z is not known too, as it is in a public run. Where
    logits are sent, they tell no more than the embedding behind them.
Costs
    Accuracy, with the weight, and noise in every step. A row comes once an epoch with fresh noise:
    its mean over epochs has less of it.
"""

import torch
from torch import Tensor, nn

from vfl_flower.learning.dropout import Drawing
from vfl_flower.learning.networks.defences.defence import EmbeddingDefence, penalised


class Sample(Drawing):
    """Draws from Gaussians in training; returns their means otherwise."""

    def forward(self, mean: Tensor, log_variance: Tensor) -> Tensor:
        """Draw a sample: (B, D), all of them."""
        if not self.training:
            return mean
        z = torch.randn(mean.shape, generator=self.generator).to(mean.device)
        return mean + (log_variance / 2).exp() * z


class MID(EmbeddingDefence):
    """An embedding net that samples, and descends L times a divergence.

    Parameters
    ----------
    embed, width
        See `EmbeddingDefence`.
    weight : float
        L.
    """

    def __init__(self, embed: nn.Module, width: int, weight: float) -> None:
        super().__init__(embed, width, weight)
        self.log_variance = nn.Linear(width, width)
        nn.init.zeros_(self.log_variance.weight)
        nn.init.zeros_(self.log_variance.bias)
        self.sample = Sample()

    def forward(self, x: Tensor) -> Tensor:
        """See `EmbeddingDefence`."""
        mean = self.embed(x).float()
        log_variance = self.log_variance(mean).float()
        E: Tensor = self.sample(mean, log_variance)
        penalty = self.argument * divergence(mean, log_variance)
        return penalised(E, penalty) if self.training else E


def divergence(mean: Tensor, log_variance: Tensor) -> Tensor:
    """Return the mean over rows of KL(N(mean, var) || N(0, I)).

    Parameters
    ----------
    mean, log_variance : Tensor
        (B, D).
    """
    each = (log_variance.exp() + mean**2 - 1 - log_variance) / 2
    return each.sum(1).mean()
