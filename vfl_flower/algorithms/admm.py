"""The z update of VIM's ADMM, exact, for a batch at once.

Xie et al. 2022, "Improving Privacy-Preserving Vertical Federated Learning by Efficient
Communication with ADMM", arXiv:2207.10226. For each of B rows, of C classes:

    a      (B, C)   the prediction, the sum of what all parties' columns say
    lambda (B, C)   the dual variable
    t      (B, C)   what teaches: the one-hot label, or a probability for each class
    z = argmin  CE(z, t) - lambda . z + rho/2 |a - z|^2                            Eq. 5

The gradient vanishes where softmax(z) = w, with w = t + lambda - rho (z - a). Here w is the
unknown: it ends as a distribution whatever the inputs, and no difference of large numbers stands in

    F(w) = softmax(q - w / rho) - w,   q = a + (t + lambda) / rho.

F is the gradient of Eq. 5. A Newton step solves its Hessian diag(p) - p p^T + rho I, where p is
softmax(z), by the formula of Sherman and Morrison, in O(C) a row.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from vfl_flower.common.errors import TrainingError
from vfl_flower.common.state import State
from vfl_flower.learning.losses import Labels, onehot

RESIDUAL = 1e-10
"""Largest entry of the gradient at which a row is done."""

MOST_STEPS = 200
_LEAST_WEIGHT = 1e-12
"""Weight that rows of less have in the solver, whose penalty is rho over it."""

_MOST_HALVINGS = 60


@dataclass(frozen=True)
class _Solution:
    """Solution of Eq. 5 and Eq. 6.

    Attributes
    ----------
    z : Tensor
        (B, C), float64.
    dual : Tensor
        lambda + rho (a - z) = w - t, (B, C), float64: by Lemma 1 the gradient of CE at z.
    residual : float
        Largest entry of the gradient of any row.
    steps : int
        Newton steps of the row that took most.
    """

    z: Tensor
    dual: Tensor
    residual: float
    steps: int


def z_update(
    a: Tensor, dual: Tensor, target: Tensor, rho: float | Tensor, start: Tensor | None = None
) -> _Solution:
    """Solve Eq. 5 for a batch.

    Parameters
    ----------
    a, dual : Tensor
        The prediction and lambda, (B, C).
    target : Tensor
        Labels, (B,), int64, or a probability for each class, (B, C), whose sum is 1.
    rho : float or Tensor
        The penalty factor, positive; or one of each row, (B, 1).
    start : Tensor, optional
        Where z starts, (B, C). Unless given, w starts at the distribution that is nearest to
        rho a + t + lambda, where it ends for a small rho.

    Raises
    ------
    TrainingError
        If a row of finite numbers is not done after `MOST_STEPS`.
    """
    a, t = a.double(), onehot(target, a.shape[1], torch.float64)
    b = t + dual.double()
    q = a + b / rho
    q = q - q.amax(1, keepdim=True)  # no softmax sees the difference
    w = nearest_distribution(rho * q) if start is None else b - rho * (start.double() - a)
    w, residual, steps = _newton(q, w, rho)
    return _Solution(a + (b - w) / rho, w - t, residual, steps)


def weighted_z_update(
    a: Tensor, dual: Tensor, target: Tensor, rho: float, weight: Tensor
) -> _Solution:
    """Solve Eq. 5 for rows with weights.

    w CE(z, t) stands for CE(z, t).

    Divided by w it is Eq. 5 again, with lambda / w and rho / w; then by Lemma 1 the new lambda is
    w (softmax(z) - t), and z = a + (lambda - new lambda) / rho by Eq. 6. So a row without weight
    has z = a + lambda / rho, and a new lambda of 0.

    Parameters
    ----------
    a, dual, target, rho
        As for `z_update`.
    weight : Tensor
        (B,), not negative.
    """
    w = weight.double()[:, None]
    scale = w.clamp(min=_LEAST_WEIGHT)
    solved = z_update(a, dual.double() / scale, target, rho / scale)
    new = w * solved.dual
    return _Solution(a.double() + (dual.double() - new) / rho, new, solved.residual, solved.steps)


class Duals:
    """lambda of every row, zero before its first round.

    Parameters
    ----------
    rows, classes : int
        N and C.
    rho : float
        The penalty factor.

    Attributes
    ----------
    values : Tensor
        (N, C), float32.
    """

    def __init__(self, rows: int, classes: int, rho: float) -> None:
        self.values, self.rho = torch.zeros(rows, classes), rho

    def update(self, rows: Tensor, a: Tensor, labels: Labels) -> tuple[Tensor, Tensor]:
        """Solve Eq. 5 for some rows, and update lambda by Eq. 6.

        `rows` is (B,). Returns z and lambda.
        """
        if isinstance(labels, Tensor):
            solved = z_update(a, self.values[rows], labels, self.rho)
        else:
            of_rows = self.values[rows]
            solved = weighted_z_update(a, of_rows, labels.y, self.rho, labels.weight)
        self.values[rows] = solved.dual.float()
        return solved.z.float(), self.values[rows]

    def state_dict(self) -> State:
        """Return the values."""
        return {"values": self.values}

    def load_state_dict(self, state: State) -> None:
        """Restore the state of `state_dict`."""
        self.values.copy_(state["values"])


def _newton(q: Tensor, w: Tensor, rho: float | Tensor) -> tuple[Tensor, float, int]:
    """Solve F(w) = 0; return w, the residual and the step count."""
    p = (q - w / rho).softmax(1)
    for steps in range(MOST_STEPS + 1):
        gradient = p - w
        unfinished = gradient.abs().amax(1, keepdim=True) > RESIDUAL  # not so if it is no number
        if not unfinished.any():
            return w, gradient.abs().max().item(), steps
        direction = rho * descent(p, gradient, rho) * unfinished
        w, p = damped(q, w, gradient, direction, rho)
    raise TrainingError(
        f"the z update did not come to a residual of {RESIDUAL:g} in {MOST_STEPS} steps; "
        f"it is {gradient.abs().max():.1e}, with rho = {_least(rho):g}"
    )


def _least(rho: float | Tensor) -> float:
    """Return the least penalty of any row."""
    return rho if isinstance(rho, float) else float(rho.min())


def descent(p: Tensor, gradient: Tensor, rho: float | Tensor) -> Tensor:
    """Solve (diag(p) - p p^T + rho I) x = gradient.

    1 - sum p^2 / (p + rho) is rho times sum p / (p + rho), which cancels nothing.
    """
    u, v = gradient / (p + rho), p / (p + rho)
    along = (p * u).sum(1, keepdim=True) / (rho * v.sum(1, keepdim=True))
    return u + along * v


def damped(
    q: Tensor, w: Tensor, gradient: Tensor, direction: Tensor, rho: float | Tensor
) -> tuple[Tensor, Tensor]:
    """Backtrack each row until its gradient shrinks; return w and p."""
    length = gradient.norm(dim=1, keepdim=True)
    share = torch.ones_like(length)
    for _ in range(_MOST_HALVINGS):
        tried = w + share * direction
        p = (q - tried / rho).softmax(1)
        shorter = (p - tried).norm(dim=1, keepdim=True) <= (1 - share / 10) * length
        still = (direction == 0).all(1, keepdim=True)
        long = ~(shorter | still) & length.isfinite()
        if not long.any():
            break
        share = torch.where(long, share / 2, share)
    return tried, p


def nearest_distribution(v: Tensor) -> Tensor:
    """Project each row onto the probability simplex, (B, C)."""
    falling = v.sort(1, descending=True).values
    excess = falling.cumsum(1) - 1
    places = torch.arange(1, v.shape[1] + 1, dtype=v.dtype)
    kept = (falling * places > excess).sum(1, keepdim=True).clamp(min=1)
    return (v - excess.gather(1, kept - 1) / kept).clamp(min=0)
