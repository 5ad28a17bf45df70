"""Search of the next step along directions and intercepts.

With eta (N, M) the linear predictors and Xi_j those of the parties' last directions D_j, all
parties together, the step is

    argmin over a, c   loss(eta + sum a_j Xi_j + c) + penalty(W + sum a_j D_j)

by Newton steps, which cost no exchange. This is sequential subspace optimization (Narkiss and
Zibulevsky 2005), of which conjugate gradients are the case of two directions: no exchange makes the
objective larger, and every limit point is a minimum, since the newest D is a direction of descent
whose metric is bounded from both sides.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from vfl_flower.algorithms.linear_models.likelihood import Likelihood

_STEPS, _HALVINGS = 100, 60
_CLOSE, _LAST = 1e-9, 2
"""Decrease, as a share of the objective, from which Newton steps are whole, and so many left."""

_RANK, _SHOWN = 1e-7, 1e-7
"""Shares of the largest eigenvalue below which directions count as others' combinations."""


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
    every = torch.cat([along, _intercepts(eta)])
    free = torch.zeros(outputs, dtype=eta.dtype)
    slope = torch.cat([penalty.slope, free])
    curvature = torch.block_diag(penalty.curvature, torch.zeros(outputs, outputs).to(eta))
    whole, t = Penalty(slope, curvature), torch.zeros(m + outputs, dtype=eta.dtype)
    value = loss.value(eta)
    last = 0
    for _ in range(_STEPS):
        at = eta + torch.tensordot(t, every, 1)
        gradient = torch.tensordot(every, loss.residual(at), 2) + slope + curvature @ t
        hessian = torch.tensordot(every, loss.curved(at, every), ([1, 2], [1, 2])) + curvature
        step = _solved(hessian, gradient)
        if float(gradient @ step) > _CLOSE * (1 + abs(value)):
            t, value = _halved(loss, eta, every, whole, t, step, value)
        else:  # where the objective's own rounding hides what is gained
            t, last = t - step, last + 1
        if last == _LAST:
            break
    return t[:m], t[m:]


def _solved(hessian: Tensor, gradient: Tensor) -> Tensor:
    """Solve for a Newton step, with directions in like units."""
    diagonal = hessian.diagonal()
    unit = torch.where(diagonal > 0, diagonal, 1.0).rsqrt()
    alike = unit[:, None] * hessian * unit
    solved: Tensor = unit * (
        torch.linalg.pinv(alike, hermitian=True, rtol=_RANK) @ (unit * gradient)
    )
    return solved


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


def least_curvature(loss: Likelihood, eta: Tensor, along: Tensor, products: Tensor) -> float:
    """Return the least curvature that directions show, intercepts fitted.

    Parameters
    ----------
    loss : Likelihood
        Of the training rows.
    eta : Tensor
        Where they are, (N, M).
    along : Tensor
        Directions of the linear predictors, (m, N, M).
    products : Tensor
        Of the coefficients' directions, D_i.D_j, (m, m).

    Returns
    -------
    float
        Smallest Ritz value of the Hessian in the space of the D_i: of one that they do not show it
        is no bound.
    """
    every = torch.cat([along, _intercepts(eta)])
    hessian = torch.tensordot(every, loss.curved(eta, every), ([1, 2], [1, 2]))
    m = len(along)
    both, rest = hessian[:m, m:], torch.linalg.pinv(hessian[m:, m:], hermitian=True)
    sizes, axes = torch.linalg.eigh(products)
    shown = sizes > _SHOWN * sizes.amax()
    basis = axes[:, shown] / sizes[shown].sqrt()
    curved = basis.T @ (hessian[:m, :m] - both @ rest @ both.T) @ basis
    return max(float(torch.linalg.eigvalsh(curved).amin()), 0.0) if shown.any() else 0.0


def _intercepts(eta: Tensor) -> Tensor:
    """Return the directions of the intercepts, (M, N, M)."""
    ones = torch.eye(eta.shape[1], dtype=eta.dtype)
    return ones[:, None, :].expand(-1, len(eta), -1)
