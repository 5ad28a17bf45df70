"""One party's block of coefficients, and its direction of descent.

With X_k (N, F_k) the party's columns, W_k (F_k, M) its coefficients, r (N, M) the residual at all
parties' linear predictors, N l2 and N l1 the options ``ridge`` and ``lasso``, for each output m:

    g_m = X_k^T r_m + ridge W_m                      the gradient, less that of |W_m|_1
    P_m = X_k^T diag(h_m) X_k + ridge I              h = |r| (1 - |r|), which is p (1 - p)
    D_m = argmin g_m . D + D . P_m D / 2 + lasso |W_m + D|_1

D = -P^-1 g without lasso, by a Cholesky factor; else by coordinate descent. h is a scaling only:
where rows have weights it is no longer the Hessian's, and the minimum stays the same.
"""

import math
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vfl_flower.common.state import State
from vfl_flower.crypto.fixed_point import LIMIT
from vfl_flower.learning.networks.base import Shape, SplitNet

FIGURES, PARTS = 7, 3
"""Numbers that a party adds to its direction, and parts of each; see `Block.direction`."""

MARGIN = 2.0
"""Of a direction's scale below the largest row that is sent: it is chosen by the one before."""

_UNIT = 4.0
"""Largest linear predictor of a direction, about, in the unit that figures are told in."""

_SHARE = 4.0
"""Of the longest row, the part that one figure may take; seven of them are shorter."""

_LEAST_CURVATURE = 1e-4
_FLOOR = 1e-9
"""Of P's diagonal, as a share of its largest entry: collinear columns leave it positive."""

_SNAP = 1e-7
"""Below this a coefficient that is on its way to zero is zero."""

_SWEEPS, _SETTLED = 1000, 1e-13

Matrix = NDArray[np.float64]


def units_of(limit: float, rows: int) -> Tensor:
    """Return the factors by which the ring holds figures: (7,)."""
    unit = min(_UNIT, limit / _SHARE) * MARGIN / limit
    units = [unit / rows] * 2 + [unit**2 / rows] * 3 + [unit / rows, 1.0]
    return torch.tensor(units, dtype=torch.float64)


def limit_of(parties: int, bound: float | None) -> float:
    """Return the largest norm of a direction's row."""
    return min(LIMIT / parties, LIMIT if bound is None else bound) * (1 - 1e-6)


def split(figures: Tensor, limit: float) -> Tensor:
    """Write figures in parts for coarse sums: (7,) -> (3, 7).

    First whole numbers, then twice what is left, as large as `limit` allows.
    """
    left, parts = figures.clamp(-limit / _SHARE, limit / _SHARE), []
    for _ in range(PARTS - 1):
        parts.append(left.round())
        left = (left - parts[-1]) * _finer(limit)
    return torch.stack([*parts, left])


def joined(sums: Tensor, limit: float) -> Tensor:
    """Read sums of figures in parts: (3, 7) -> (7,)."""
    total = torch.zeros_like(sums[0], dtype=torch.float64)
    for part in reversed(sums.double()):
        total = part + total / _finer(limit)
    return total


def _finer(limit: float) -> float:
    """Return the power of two between two parts of a figure."""
    return float(2.0 ** math.floor(math.log2(limit * 2 / _SHARE)))


class Coefficients(nn.Module):
    """Linear predictors of one party's columns: (B, ...) -> (B, M)."""

    def __init__(self, columns: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(columns, outputs, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        """Return the columns times the coefficients."""
        return (x.flatten(1).double() @ self.weight).float()


class Intercept(nn.Module):
    """Intercept of each output, which is added: (B, M) -> (B, M)."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(outputs, dtype=torch.float64))

    def forward(self, eta: Tensor) -> Tensor:
        """Return the sum."""
        return (eta + self.bias).float()


def linear_model(shape: Shape, outputs: int, *, intercept: bool) -> SplitNet:
    """Build a party's network: its coefficients, zero at first.

    Parameters
    ----------
    shape : tuple of int
        Of a row of its columns.
    outputs : int
        M.
    intercept : bool
        Whether it holds the intercepts, too.
    """
    columns = int(np.prod(shape))
    decide = Intercept(outputs) if intercept else nn.Identity()
    return SplitNet(Coefficients(columns, outputs), decide)


class Block:
    """Descent of one party's coefficients.

    Parameters
    ----------
    net : SplitNet
        As `linear_model` makes it.
    ridge, lasso : float
        Weights of |W|^2 / 2 and of |W|_1, beside losses that are summed over rows.
    constant : bool
        Whether h is 1, as of numbers.

    Attributes
    ----------
    step, ahead : Tensor
        The last step, and the direction that the next can take, (F_k, M).
    scale : float
        What multiplies the last step in the search.
    """

    def __init__(self, net: SplitNet, ridge: float, lasso: float, *, constant: bool) -> None:
        self.weight = cast("Coefficients", net.embed).weight
        self.ridge, self.lasso, self.constant = ridge, lasso, constant
        self.step, self.ahead = torch.zeros_like(self.W), torch.zeros_like(self.W)
        self.scale = 1.0

    @property
    def W(self) -> Tensor:
        """The coefficients, (F_k, M), on a processor."""
        return self.weight.detach().cpu()

    def direction(
        self, X: Tensor, r: Tensor, scales: Tensor, limit: float
    ) -> tuple[Tensor, Tensor]:
        """Find the next direction, and tell of it.

        Parameters
        ----------
        X : Tensor
            The party's columns of all training rows, (N, F_k), float64.
        r : Tensor
            The residual, (N, M), float64.
        scales : Tensor
            (2,): what the direction and the last step are multiplied with, so that rounding is
            small beside them.
        limit : float
            Largest norm of a row that is sent; the direction is shortened to it.

        Returns
        -------
        xi : Tensor
            X times the direction D, (N, M), float64.
        figures : Tensor
            (7,), float64, times `units_of` them: ridge W.D, W.S, D.D, D.S, S.S, with S the last
            step, scaled; lasso times the growth of |W|_1 along D; and the norm of the gradient.
        """
        units = units_of(limit, len(X))
        scale, self.scale = float(scales[0]), float(scales[1])
        g = X.T @ r + self.ridge * self.W
        D = scale * (self._newton(X, r, g) if len(g) else torch.zeros_like(g))
        xi = X @ D
        longest = float(xi.norm(dim=1).amax())
        if longest > limit:
            xi, D = xi * (limit / longest), D * (limit / longest)
            scale *= limit / longest
        self.ahead, S = D, self.scale * self.step
        products = [(a * b).sum() for a, b in ((self.W, D), (self.W, S), (D, D), (D, S), (S, S))]
        growth = scale * ((self.W + D / scale).abs().sum() - self.W.abs().sum())
        told = [self.ridge * each for each in products]
        return xi, units * torch.stack([*told, self.lasso * growth, self._slope(g).norm()])

    def move(self, share: Tensor) -> None:
        """Take shares of the direction and of the last step: (2,)."""
        along, again = (float(each) for each in share)
        self.step = along * self.ahead + again * self.scale * self.step
        moved = self.W + self.step
        if self.lasso:
            ends = (self.W != 0) & (moved * self.W <= self.W.square()) & (moved.abs() < _SNAP)
            moved[ends] = 0
        with torch.no_grad():
            self.weight.copy_(moved)

    def state_dict(self) -> State:
        """Return the last step and the direction."""
        return {"step": self.step, "ahead": self.ahead, "scale": self.scale}

    def load_state_dict(self, state: State) -> None:
        """Restore the state of `state_dict`."""
        self.step, self.ahead, self.scale = state["step"], state["ahead"], float(state["scale"])

    def _slope(self, g: Tensor) -> Tensor:
        """Return the subgradient of least norm, (F_k, M)."""
        at_zero = g.sign() * (g.abs() - self.lasso).clamp(min=0)
        return torch.where(self.W == 0, at_zero, g + self.lasso * self.W.sign())

    def _newton(self, X: Tensor, r: Tensor, g: Tensor) -> Tensor:
        """Return the minimum of the model of every output, (F_k, M)."""
        size = r.abs()
        h = torch.where(size < 1, size * (1 - size), size / 4).clamp(min=_LEAST_CURVATURE)
        if self.constant:
            h = torch.ones_like(h)
        columns = [self._of_output(X, h[:, m], g[:, m], self.W[:, m]) for m in range(r.shape[1])]
        return torch.stack(columns, 1)

    def _of_output(self, X: Tensor, h: Tensor, g: Tensor, W: Tensor) -> Tensor:
        P = X.T @ (h[:, None] * X)
        diagonal = P.diagonal()
        diagonal += self.ridge + _FLOOR * float(diagonal.amax()) + torch.finfo(P.dtype).tiny
        if self.lasso:
            return torch.from_numpy(_descended(P.numpy(), g.numpy(), W.numpy(), self.lasso))
        solved = torch.cholesky_solve(-g[:, None], torch.linalg.cholesky(P))
        return solved[:, 0]


def _descended(P: Matrix, g: Matrix, W: Matrix, lasso: float) -> Matrix:
    """Minimise the model with lasso by coordinate descent."""
    D, slope = np.zeros_like(g), g.copy()
    for _ in range(_SWEEPS):
        largest = 0.0
        for j in range(len(g)):
            aim = P[j, j] * (W[j] + D[j]) - slope[j]
            value = np.sign(aim) * max(abs(aim) - lasso, 0) / P[j, j]
            change = value - W[j] - D[j]
            if change:
                slope += change * P[j]
                D[j] = value - W[j]
                largest = max(largest, abs(change))
        if largest <= _SETTLED:
            break
    return D
