"""Search of the next step along directions and intercepts.

With eta (N, M) the linear predictors, Xi and Sigma those of the parties' new directions D and of
their last step S, all parties together, the step is

    argmin over a, b, c   loss(eta + a Xi + b Sigma + c) + ridge/2 |W + a D + b S|^2

by Newton steps, which cost no exchange. This is the conjugate gradient method with a plane search
and a preconditioner (each party's own Newton step): no exchange makes the objective larger, and
every limit point is a minimum, since D is a direction of descent whose metric is bounded from both
sides. With lasso, b = 0 and a is at most the whole way, along which |W|_1 is convex, so that its
chord bounds it.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from vfl_flower.algorithms.linear_models.likelihood import Likelihood

_STEPS, _HALVINGS = 100, 60
_DONE = 1e-14
"""Decrease of the objective, as a share of it, at which the search is done."""

_RANK = 1e-12


@dataclass(frozen=True)
class Penalty:
    """Quadratic penalty along some directions.

    Attributes
    ----------
    slope : Tensor
        (m,), float64.
    curvature : Tensor
        (m, m), float64.
    """

    slope: Tensor
    curvature: Tensor

    def value(self, t: Tensor) -> float:
        """Return the penalty at t, (m,), less that at 0."""
        return float(self.slope @ t + t @ self.curvature @ t / 2)


def search(loss: Likelihood, eta: Tensor, along: Tensor, penalty: Penalty) -> tuple[Tensor, Tensor]:
    """Minimise along some directions and the intercepts.

    Parameters
    ----------
    loss : Likelihood
        Of the training rows.
    eta : Tensor
        Where they are, (N, M).
    along : Tensor
        Directions of the linear predictors, (m, N, M); m may be 0.
    penalty : Penalty
        Of the coefficients, along the same.

    Returns
    -------
    share : Tensor
        How far to go along each direction, (m,).
    intercepts : Tensor
        What the intercepts grow by, (M,).
    """
    m, outputs = len(along), eta.shape[1]
    ones = torch.eye(outputs, dtype=eta.dtype)[:, None, :].expand(-1, len(eta), -1)
    every = torch.cat([along, ones])
    free = torch.zeros(outputs, dtype=eta.dtype)
    slope = torch.cat([penalty.slope, free])
    curvature = torch.block_diag(penalty.curvature, torch.zeros(outputs, outputs).to(eta))
    whole, t = Penalty(slope, curvature), torch.zeros(m + outputs, dtype=eta.dtype)
    value = loss.value(eta)
    for _ in range(_STEPS):
        at = eta + torch.tensordot(t, every, 1)
        gradient = torch.tensordot(every, loss.residual(at), 2) + slope + curvature @ t
        hessian = torch.tensordot(every, loss.curved(at, every), ([1, 2], [1, 2])) + curvature
        step = torch.linalg.pinv(hessian, hermitian=True, rtol=_RANK) @ gradient
        if float(gradient @ step) <= _DONE * (1 + abs(value)):
            break
        t, value = _halved(loss, eta, every, whole, t, step, value)
    return t[:m], t[m:]


def _halved(
    loss: Likelihood,
    eta: Tensor,
    every: Tensor,
    penalty: Penalty,
    t: Tensor,
    step: Tensor,
    value: float,
) -> tuple[Tensor, float]:
    """Take a Newton step, halved until the objective does not grow."""
    share = 1.0
    for _ in range(_HALVINGS):
        tried = t - share * step
        found = loss.value(eta + torch.tensordot(tried, every, 1)) + penalty.value(tried)
        if found <= value:
            return tried, found
        share /= 2
    return t, value


def within(
    loss: Likelihood, eta: Tensor, xi: Tensor, penalty: Penalty, most: float
) -> tuple[Tensor, Tensor]:
    """Search along one direction, (1, N, M), up to an end.

    The objective is convex: beyond the end, the end is the minimum.
    """
    share, intercepts = search(loss, eta, xi, penalty)
    end = share.clamp(0, most)
    if bool((share == end).all()):
        return share, intercepts
    none = Penalty(penalty.slope[:0], penalty.curvature[:0, :0])
    _, intercepts = search(loss, eta + float(end) * xi[0], xi[:0], none)
    return end, intercepts
