"""Negative log-likelihoods of generalized linear models, summed over rows.

With eta (N, M) the linear predictors, in float64:

| labels | M | loss of a row | residual |
|---|---|---|---|
| two classes | 1 | log(1 + exp(eta)) - y eta | sigmoid(eta) - y |
| several labels | C | the same, for each of them | the same |
| more classes | C | log sum exp(eta) - eta_y | softmax(eta) - onehot(y) |
| numbers | 1 | (eta - y)^2 / 2 | eta - y |

A row's weight multiplies its loss.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from vfl_flower.config.catalog import REGRESSION
from vfl_flower.learning.losses import Labels, onehot


def outputs_of(classes: int, *, several: bool) -> int:
    """Return M: 1 for two classes and for numbers, else C."""
    return 1 if classes <= 2 and not several else classes


def logits_of(eta: Tensor, classes: int) -> Tensor:
    """Return logits of classes, (N, C), of linear predictors, (N, M).

    Of two classes the first has a logit of 0.
    """
    if eta.shape[1] == classes:
        return eta
    return torch.cat([torch.zeros_like(eta), eta], 1)


@dataclass(frozen=True)
class Likelihood:
    """Loss of some rows at their linear predictors.

    Attributes
    ----------
    y : Tensor
        Targets, (N, M), float64.
    weight : Tensor
        Of rows, (N, 1), float64.
    """

    y: Tensor
    weight: Tensor

    def value(self, eta: Tensor) -> float:
        """Return the loss, summed over rows: (N, M) -> number."""
        return float((self.weight * self._losses(eta)).sum())

    def residual(self, eta: Tensor) -> Tensor:
        """Return the gradient: (N, M) -> (N, M)."""
        return self.weight * (self._means(eta) - self.y)

    def curved(self, eta: Tensor, along: Tensor) -> Tensor:
        """Multiply directions, (m, N, M), by the Hessian at eta, (N, M)."""
        raise NotImplementedError

    def separated(self, eta: Tensor) -> bool:
        """Tell whether every row is on its side of all boundaries."""
        return False

    def _means(self, eta: Tensor) -> Tensor:
        raise NotImplementedError

    def _losses(self, eta: Tensor) -> Tensor:
        raise NotImplementedError


class Logistic(Likelihood):
    """Two classes, or several labels."""

    def _means(self, eta: Tensor) -> Tensor:
        return eta.sigmoid()

    def _losses(self, eta: Tensor) -> Tensor:
        return F.softplus(eta) - self.y * eta

    def curved(self, eta: Tensor, along: Tensor) -> Tensor:
        """See `Likelihood`: p (1 - p)."""
        p = eta.sigmoid()
        return self.weight * p * (1 - p) * along

    def separated(self, eta: Tensor) -> bool:
        """Tell whether some label has every row on its side."""
        right = (eta * (2 * self.y - 1) > 0) | (self.weight == 0)
        return bool(right.all(0).any())


class Softmax(Likelihood):
    """More than two classes."""

    def _means(self, eta: Tensor) -> Tensor:
        return eta.softmax(1)

    def _losses(self, eta: Tensor) -> Tensor:
        return eta.logsumexp(1, keepdim=True) - (self.y * eta).sum(1, keepdim=True)

    def curved(self, eta: Tensor, along: Tensor) -> Tensor:
        """See `Likelihood`: diag(p) - p p^T."""
        p = eta.softmax(1)
        scaled = p * along
        return self.weight * (scaled - p * scaled.sum(2, keepdim=True))

    def separated(self, eta: Tensor) -> bool:
        """Tell whether every row's class has the largest predictor."""
        others = eta.masked_fill(self.y > 0, -torch.inf).amax(1, keepdim=True)
        right = (others < (self.y * eta).sum(1, keepdim=True)) | (self.weight == 0)
        return bool(right.all())


class Squared(Likelihood):
    """Numbers."""

    def _means(self, eta: Tensor) -> Tensor:
        return eta

    def _losses(self, eta: Tensor) -> Tensor:
        return (eta - self.y).square() / 2

    def curved(self, eta: Tensor, along: Tensor) -> Tensor:
        """See `Likelihood`: 1."""
        return self.weight * along


def is_regression(task: str) -> bool:
    """Tell whether labels are numbers, of which predictions have a constant curvature."""
    return task == REGRESSION


def likelihood_of(labels: Labels, classes: int, *, several: bool) -> Likelihood:
    """Return the loss for training labels.

    Parameters
    ----------
    labels : Tensor or Weighted
        Classes (N,), int64, several labels (N, C) or numbers (N,), float32.
    classes : int
        C, or 1 of numbers.
    several : bool
        Whether each of the C outputs is of a label of its own.
    """
    y = labels if isinstance(labels, Tensor) else labels.y
    weight = torch.ones(len(y)) if isinstance(labels, Tensor) else labels.weight
    of_rows = weight.double()[:, None]
    if several:
        return Logistic(y.double(), of_rows)
    if classes == 1:
        return Squared(y.double()[:, None], of_rows)
    if classes == 2:
        return Logistic(y.double()[:, None], of_rows)
    return Softmax(onehot(y, classes, torch.float64), of_rows)
