"""Losses, all from outputs to a scalar: the mean over the batch.

Of classes, outputs are logits (B, C), and labels (B,) int64, or (B, C) float32: a probability for
each class. Of a regression, outputs are (B, 1), and labels (B,) float32.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from vfl_flower.common.errors import DataError
from vfl_flower.common.names import load_object
from vfl_flower.config.catalog import LOSSES, REGRESSION_LOSSES

Loss = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Link:
    """Means that a loss makes of outputs, and compares with labels.

    Attributes
    ----------
    means : callable
        From outputs (B, C).
    shares : bool
        Whether they are from 0 to 1.
    sums : bool
        Whether those of a row add up to 1.
    """

    means: Callable[[Tensor], Tensor]
    shares: bool
    sums: bool


SOFTMAX = Link(lambda output: output.softmax(1), shares=True, sums=True)
SIGMOID = Link(torch.sigmoid, shares=True, sums=False)
IDENTITY = Link(lambda output: output, shares=False, sums=False)


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


def balanced_weights(y: Tensor, classes: int) -> Tensor:
    """Compute class weights inverse to the counts of labels: (N,) -> (C,).

    They are N / (C N_c): the mean over all labels of the weights of their classes is 1.

    Raises
    ------
    DataError
        If a class has no label.
    """
    counts = torch.bincount(y, minlength=classes)
    if not counts.all():
        raise DataError(
            f"active: no training row is of class {int(counts.argmin())}, so that classes cannot "
            "be balanced; take other training rows"
        )
    return (len(y) / (classes * counts.double())).float()


def weighted_binary_cross_entropy(weights: Tensor) -> Loss:
    """Return `binary_cross_entropy` with a weight for each class, (C,), as below."""

    def loss(output: Tensor, y: Tensor) -> Tensor:
        rows = onehot(y, output.shape[1], output.dtype)
        bits = F.binary_cross_entropy_with_logits(output, rows, reduction="none").sum(1)
        to = weights.to(output.device, output.dtype)
        return (bits * to[y]).sum() / (len(y) * math.log(2))

    return loss


def weighted_cross_entropy(weights: Tensor) -> Loss:
    """Return the cross-entropy with a weight for each class, (C,).

    It is the mean of w_y times a row's cross-entropy, divided by B and not by the sum of the
    batch's weights: a batch of rare classes counts for more than one of frequent ones.
    """

    def loss(output: Tensor, y: Tensor) -> Tensor:
        to = weights.to(output.device, output.dtype)
        return F.cross_entropy(output, y, weight=to, reduction="sum") / len(y)

    return loss


def mean_squared_error(output: Tensor, y: Tensor) -> Tensor:
    """Compute the mean squared error: (B, 1), (B,)."""
    return F.mse_loss(output.squeeze(1), y)


def loss_of(name: str, weights: Tensor | None = None) -> Loss:
    """Import a loss by name, with optional class weights, (C,).

    Parameters
    ----------
    name : str
        A key of `LOSSES` or `REGRESSION_LOSSES` in `vfl_flower.config.catalog`.
    weights : Tensor, optional
        As `balanced_weights` returns them.
    """
    spec = (LOSSES | REGRESSION_LOSSES)[name]
    loss: Loss = load_object(spec.loss) if weights is None else load_object(spec.weighted)(weights)
    return loss


def residuals(
    loss: Loss, outputs: Sequence[Tensor], y: Tensor
) -> tuple[tuple[Tensor, ...], list[float]]:
    """Compute losses and their gradients at the outputs.

    The gradients are all that a party without labels needs to learn.

    Parameters
    ----------
    loss : callable
        As `loss_of` returns it.
    outputs : sequence of Tensor
        Of one or more parties, each (B, C), or (B, 1) of a regression.
    y : Tensor
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
