"""Losses, all from logits (B, C) to a scalar: the mean over the batch.

Labels are (B,) int64, or (B, C) float32: a probability for each class.
"""

import math
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

Loss = Callable[[Tensor, Tensor], Tensor]


def onehot(y: Tensor, classes: int, dtype: torch.dtype) -> Tensor:
    """Return labels (B,) as rows of zeros and a one, (B, C); rows stay rows."""
    return (F.one_hot(y, classes) if y.dim() == 1 else y).to(dtype)


def binary_cross_entropy(output: Tensor, y: Tensor) -> Tensor:
    """Sum over classes of the binary cross-entropy in bits; EASTER's Eq. 8."""
    rows = onehot(y, output.shape[1], output.dtype)
    bits = F.binary_cross_entropy_with_logits(output, rows, reduction="sum") / math.log(2)
    return bits / len(y)


LOSSES: dict[str, Loss] = {
    "cross-entropy": F.cross_entropy,
    "binary-cross-entropy": binary_cross_entropy,
}


def residuals(
    loss: Loss, outputs: Sequence[Tensor], y: Tensor
) -> tuple[tuple[Tensor, ...], list[float]]:
    """Return dL/doutput, what a party without labels needs in order to learn, and L itself.

    Parameters
    ----------
    loss : callable
        One of `LOSSES`.
    outputs : sequence of Tensor
        Logits of one or more parties, each (B, C).
    y : Tensor
        Labels, (B,), int64, or (B, C).

    Returns
    -------
    gradients : tuple of Tensor
        Each (B, C).
    values : list of float
        The losses.
    """
    leaves = [output.detach().requires_grad_() for output in outputs]
    values = [loss(leaf, y) for leaf in leaves]
    return torch.autograd.grad(values, leaves), [value.item() for value in values]
