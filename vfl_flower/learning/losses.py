"""Losses, all from outputs to a scalar: the mean over the batch.

Of classes, outputs are logits (B, C), and labels (B,) int64, or (B, C) float32: a probability for
each class. Of several labels of a row, both are (B, C), float32. Of a regression, outputs are
(B, 1), and labels (B,) float32. Labels are `Weighted` where rows count more or less than others.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from vfl_flower.common.names import load_object
from vfl_flower.config.catalog import LOSSES, REGRESSION_LOSSES


@dataclass(frozen=True)
class Weighted:
    """Labels of rows whose losses have weights.

    Attributes
    ----------
    y : Tensor
        The labels, as a loss takes them.
    weight : Tensor
        (B,), float32.
    """

    y: Tensor
    weight: Tensor

    def __len__(self) -> int:
        return len(self.y)


Labels = Tensor | Weighted
Loss = Callable[[Tensor, Labels], Tensor]


@dataclass(frozen=True)
class Link:
    """Means that a loss makes of outputs, and compares with labels.

    Attributes
    ----------
    means : callable
        From outputs (B, C).
    outputs : callable
        From means that are shares back to outputs; shares of 0 count as the least above it.
    shares : bool
        Whether they are from 0 to 1.
    sums : bool
        Whether those of a row add up to 1.
    """

    means: Callable[[Tensor], Tensor]
    outputs: Callable[[Tensor], Tensor]
    shares: bool
    sums: bool


_LEAST_SHARE = 1e-7


def _logs(shares: Tensor) -> Tensor:
    return shares.clamp_min(_LEAST_SHARE).log()


SOFTMAX = Link(lambda output: output.softmax(1), _logs, shares=True, sums=True)
SIGMOID = Link(torch.sigmoid, lambda shares: shares.logit(_LEAST_SHARE), shares=True, sums=False)
IDENTITY = Link(lambda output: output, lambda means: means, shares=False, sums=False)


def onehot(y: Tensor, classes: int, dtype: torch.dtype) -> Tensor:
    """One-hot encode labels: (B,) -> (B, C); rows stay as they are."""
    return (F.one_hot(y, classes) if y.dim() == 1 else y).to(dtype)


def cross_entropy(output: Tensor, y: Tensor) -> Tensor:
    """Return the mean cross-entropy in nats."""
    return F.cross_entropy(output, y)


def binary_cross_entropy(output: Tensor, y: Tensor) -> Tensor:
    """Sum over classes of the binary cross-entropy in bits; EASTER's Eq. 8."""
    rows = onehot(y, output.shape[1], output.dtype)
    bits = F.binary_cross_entropy_with_logits(output, rows, reduction="sum") / math.log(2)
    return bits / len(y)


def weighted_cross_entropy(output: Tensor, y: Tensor, weight: Tensor) -> Tensor:
    """Return the mean of weighted rows' cross-entropy; weights are (B,).

    It is divided by B and not by the sum of the batch's weights: a batch of heavy rows counts for
    more than one of light ones.
    """
    return (F.cross_entropy(output, y, reduction="none") * weight).sum() / len(y)


def weighted_binary_cross_entropy(output: Tensor, y: Tensor, weight: Tensor) -> Tensor:
    """Return `binary_cross_entropy` of weighted rows, as above."""
    rows = onehot(y, output.shape[1], output.dtype)
    nats = F.binary_cross_entropy_with_logits(output, rows, reduction="none").sum(1)
    return (nats * weight).sum() / (len(y) * math.log(2))


def mean_squared_error(output: Tensor, y: Tensor) -> Tensor:
    """Compute the mean squared error: (B, 1), (B,)."""
    return F.mse_loss(output.squeeze(1), y)


def weighted_mean_squared_error(output: Tensor, y: Tensor, weight: Tensor) -> Tensor:
    """Return `mean_squared_error` of weighted rows, as above."""
    return (F.mse_loss(output.squeeze(1), y, reduction="none") * weight).sum() / len(y)


def loss_of(name: str) -> Loss:
    """Import a loss by name; it takes labels with and without weights.

    Parameters
    ----------
    name : str
        A key of `LOSSES` or `REGRESSION_LOSSES` in `vfl_flower.config.catalog`.
    """
    spec = (LOSSES | REGRESSION_LOSSES)[name]
    plain, weighted = load_object(spec.loss), load_object(spec.weighted)

    def loss(output: Tensor, y: Labels) -> Tensor:
        value: Tensor
        if isinstance(y, Tensor):
            value = plain(output, y)
        else:
            value = weighted(output, y.y, y.weight.to(output.device, output.dtype))
        return value

    return loss


def residuals(
    loss: Loss, outputs: Sequence[Tensor], y: Labels
) -> tuple[tuple[Tensor, ...], list[float]]:
    """Compute losses and their gradients at the outputs.

    The gradients are all that a party without labels needs to learn.

    Parameters
    ----------
    loss : callable
        As `loss_of` returns it.
    outputs : sequence of Tensor
        Of one or more parties, each (B, C), or (B, 1) of a regression.
    y : Tensor or Weighted
        Labels, as the loss takes them.

    Returns
    -------
    gradients : tuple of Tensor
        Each of its output's shape.
    values : list of float
        The losses.
    """
    leaves = [output.detach().requires_grad_() for output in outputs]
    values = [loss(leaf, y) for leaf in leaves]
    return torch.autograd.grad(values, leaves), [value.item() for value in values]
