"""Gradients and hessians of a loss, and the whole numbers that travel.

Sums of whole numbers are exact in any order. So all parties' sums of the same rows are equal, and
the active party can check them.
"""

from collections.abc import Callable
from math import ceil, frexp, log2
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.common.names import load_object
from vfl_flower.config.catalog import LOSSES, REGRESSION_LOSSES
from vfl_flower.learning.losses import Labels, Link, Weighted, onehot
from vfl_flower.privacy.label_dp.supervision import Supervision

_MOST_BITS = 30
EXACT_BITS = 52
"""Of sums in float64, of which one bit is spare."""


class Whole(NamedTuple):
    """Numbers in multiples of a unit.

    Attributes
    ----------
    numbers : ndarray
        (B, T) int32.
    unit : float
        A power of two.
    """

    numbers: Array
    unit: float


def outputs_of(scores: Tensor, classes: int) -> Tensor:
    """Return outputs of scores: (B, T) -> (B, C).

    Of two classes, the first has 0.
    """
    if scores.shape[1] == classes:
        return scores
    return torch.cat([torch.zeros_like(scores), scores], 1)


def derivatives(
    loss: Callable[[Tensor, Labels], Tensor], scores: Tensor, classes: int, y: Labels
) -> tuple[Array, Array]:
    """Derive each row's loss twice by each of its scores.

    Parameters
    ----------
    loss : callable
        The mean over the batch, from outputs and labels.
    scores : Tensor
        (B, T) float64.
    classes : int
        C.
    y : Tensor or Weighted
        Targets, as the loss takes them.

    Returns
    -------
    g, h : ndarray
        (B, T) float64. No hessian is negative.
    """
    with torch.enable_grad():
        leaf = scores.detach().requires_grad_()
        total = loss(outputs_of(leaf, classes), _double(y)) * len(scores)
        (g,) = torch.autograd.grad(total, leaf, create_graph=True)
        each = [
            torch.autograd.grad(g[:, tree].sum(), leaf, retain_graph=True)[0][:, tree]
            for tree in range(scores.shape[1])
        ]
    return g.detach().numpy(), torch.stack(each, 1).clamp_min(0).numpy()


def base_scores(taught: Supervision, y: Labels, classes: int, loss: str) -> Tensor:
    """Return the scores whose means are those of all targets.

    (T,) float64.

    Parameters
    ----------
    taught : Supervision
        Makes targets and weights of labels.
    y : Tensor or Weighted
        Labels of the training rows.
    classes : int
        C.
    loss : str
        Name of the loss, whose link makes outputs of means.
    """
    targets = taught.taught(torch.zeros(len(y), classes), y)
    weight = torch.ones(len(y)) if isinstance(targets, Tensor) else targets.weight
    labels = targets if isinstance(targets, Tensor) else targets.y
    link: Link = load_object((LOSSES | REGRESSION_LOSSES)[loss].link)
    numbers = onehot(labels, classes, torch.float64) if link.shares else labels[:, None].double()
    shares = weight.double() / weight.double().sum()
    mean = (shares[:, None] * numbers).sum(0, keepdim=True)
    outputs = link.outputs(mean.clamp(0, 1) if link.shares else mean)[0]
    return outputs[1:] - outputs[:1] if link.sums and classes == 2 else outputs


def whole(values: Array) -> Whole:
    """Round numbers to multiples of a unit, with exact sums.

    (B, T) float64.

    The unit is 2^-30 of the largest magnitude, more where there are over 2^22 rows.
    """
    most = float(np.abs(values).max(initial=0.0))
    bits = min(_MOST_BITS, EXACT_BITS - ceil(log2(max(len(values), 1))))
    unit = 2.0 ** (frexp(most)[1] - bits) if most else 1.0
    return Whole(np.rint(values / unit).astype(np.int32), unit)


def left_out(seed: int, number: int, share: float, rows: int) -> NDArray[np.bool_]:
    """Draw by the seed which rows a round leaves out: (B,).

    Parameters
    ----------
    seed : int
        Of the run.
    number : int
        Of the round.
    share : float
        Of the rows that it learns from.
    rows : int
        B.
    """
    random = np.random.default_rng([seed, number, 5])
    drawn = random.permutation(rows)[max(round(share * rows), 1) :]
    made = np.zeros(rows, bool)
    made[drawn] = True
    return made


def _double(y: Labels) -> Labels:
    """Return labels with float64 in place of float32."""
    if isinstance(y, Weighted):
        inner = _double(y.y)
        assert isinstance(inner, Tensor)  # noqa: S101  weights are of labels
        return Weighted(inner, y.weight.double())
    return y.double() if y.is_floating_point() else y
