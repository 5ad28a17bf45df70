"""One party's block of coefficients, and its directions of descent.

With X_k (N, F_k) the party's columns, W_k (F_k, M) its coefficients, r (N, M) the residual at all
parties' linear predictors, and of each output m:

    q   = ridge W + sigma (W - U) + V                the gradient of the smooth penalty, at W
    P_m = X_k^T diag(h_m) X_k + (ridge + sigma) I    h = |r| (1 - |r|), which is p (1 - p)
    D_m = - P_m^-1 (X_k^T r_m + q_m)                 the block's own Newton step

Without lasso U, V and sigma are 0. With it U is a copy of W that the lasso shrinks, and V its dual
(ADMM; Boyd et al. 2011, section 6.4, over-relaxed): after each step

    U = shrink(W' + V / sigma, lasso / sigma),  V = V + sigma (W' - U),   W' = 1.6 W - 0.6 U_before

which touches no other party's numbers. h is a scaling only: where rows have weights it is no longer
the Hessian's, and the minimum stays the same.
"""

from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from vfl_flower.algorithms.linear_models.evidence import Evidence
from vfl_flower.algorithms.linear_models.parts import FIGURES, KEPT, finer, units_of
from vfl_flower.algorithms.linear_models.path import Hyperparameters
from vfl_flower.common.state import State, restore
from vfl_flower.learning.networks.base import Shape, SplitNet

_LEAST_CURVATURE = 1e-4
_FLOOR = 1e-9
"""Of P's diagonal, as a share of its largest entry: collinear columns leave it positive."""

_RELAXED = 1.6
"""How far ADMM goes beyond its step, where 1 is the step."""


class Coefficients(nn.Module):
    """Linear predictors of one party's columns: (B, ...) -> (B, M)."""

    def __init__(self, columns: int, outputs: int, bins: int = 0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(columns, outputs, dtype=torch.float64))
        self.evidence = Evidence(columns, bins) if bins else None

    def columns(self, x: Tensor) -> Tensor:
        """Return values, or their evidence: (B, ...) -> (B, F)."""
        flat = x.flatten(1)
        return flat.double() if self.evidence is None else self.evidence(flat)

    def forward(self, x: Tensor) -> Tensor:
        """Return the columns times the coefficients."""
        return (self.columns(x) @ self.weight).float()


class Intercept(nn.Module):
    """Intercept of each output, which is added: (B, M) -> (B, M)."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(outputs, dtype=torch.float64))

    def forward(self, eta: Tensor) -> Tensor:
        """Return the sum."""
        return (eta + self.bias).float()


def linear_model(shape: Shape, outputs: int, *, intercept: bool, bins: int = 0) -> SplitNet:
    """Build a party's network: its coefficients, zero at first.

    Parameters
    ----------
    shape : tuple of int
        Of a row of its columns.
    outputs : int
        M.
    intercept : bool
        Whether it holds the intercepts, too.
    bins : int
        Of the weight of evidence that stands for a value; 0: the value itself.
    """
    columns = int(np.prod(shape))
    decide = Intercept(outputs) if intercept else nn.Identity()
    return SplitNet(Coefficients(columns, outputs, bins), decide)


class Block:
    """Descent of one party's coefficients.

    Parameters
    ----------
    net : SplitNet
        As `linear_model` makes it.
    options : Hyperparameters
        Weights of |W|^2 / 2 and of |W|_1, beside losses that are summed over rows.
    constant : bool
        Whether h is 1, as of numbers.

    Attributes
    ----------
    kept : Tensor
        The last directions, scaled, (j, F_k, M), the newest last.
    U, V : Tensor
        The shrunk copy of the coefficients and its dual, (F_k, M).
    sigma : float
        Weight of |W - U|^2 / 2.
    grown : float
        |U - U_before|.
    ridge, lasso : float
        The weights times the present strength.
    """

    _REMEMBERED = ("kept", "U", "V", "sigma", "grown")

    def __init__(self, net: SplitNet, options: Hyperparameters, *, constant: bool) -> None:
        self.model = cast("Coefficients", net.embed)
        self.weight = self.model.weight
        self.options, self.constant = options, constant
        self.ridge, self.lasso = options.ridge, options.lasso
        self.U = self.V = torch.zeros_like(self.W)
        self.kept = self.W.new_zeros(0, *self.W.shape)
        self.sigma, self.grown = 0.0, 0.0

    @property
    def W(self) -> Tensor:
        """The coefficients, (F_k, M), on a processor."""
        return self.weight.detach().cpu()

    def columns(self, x: Tensor, r: Tensor) -> Tensor:
        """Return training columns in float64: (N, ...) -> (N, F_k).

        Bins are fitted at first, by the first residual: it is negative for the second class alone,
        and 0 for rows without weight.
        """
        evidence = self.model.evidence
        if evidence is not None and not evidence.fitted:
            counted = (r[:, 0] != 0).to(x.device)
            evidence.fit(x.flatten(1)[counted], r[:, 0].to(x.device)[counted] < 0)
        return self.model.columns(x).cpu()

    def answer(self, X: Tensor, r: Tensor, told: Tensor, limit: float) -> tuple[Tensor, Tensor]:
        """Find the next direction, or settle, and tell of it.

        Parameters
        ----------
        X : Tensor
            The party's columns of all training rows, (N, F_k), float64.
        r : Tensor
            The residual, (N, M), float64.
        told : Tensor
            (4,): what numbers are multiplied with, so that rounding is small beside them; sigma;
            and 1 to settle: W becomes U, and all its linear predictors are sent anew, rounded to
            whole numbers; 2: what rounding left, times `finer`; and the strength of the penalty.
        limit : float
            Largest norm of a row that is sent; a direction is shortened to it.

        Returns
        -------
        xi : Tensor
            X times the direction D, or times W, scaled: (N, M), float64.
        figures : Tensor
            (FIGURES,), float64, times `units_of` them: slopes D_j.(X^T r + q) along
            all directions kept; products D.D_j, times the penalty's weight; the norms of the
            subgradient of least norm, of W - U, of the last change of U, of U, and of V; and 1
            where W was too large to be sent.
        """
        scale, self.sigma, settles, strength = (float(each) for each in told)
        self.ridge, self.lasso = strength * self.options.ridge, strength * self.options.lasso
        if self.lasso:
            self._shrink()
        if settles:
            return self._settled(scale * (X @ self._settle()), limit, rest=settles > 1)
        q = self.ridge * self.W + self.sigma * (self.W - self.U) + self.V
        g = X.T @ r
        D = scale * (self._newton(X, r, g + q) if len(g) else torch.zeros_like(g))
        xi = X @ D
        longest = float(xi.norm(dim=1).amax())
        if longest > limit:
            xi, D = xi * (limit / longest), D * (limit / longest)
        self.kept = torch.cat([self.kept[-KEPT + 1 :], D[None]])
        return xi, units_of(limit, len(X)) * self._figures(D, g, q, len(X))

    def _figures(self, D: Tensor, g: Tensor, q: Tensor, rows: int) -> Tensor:
        j, figures = len(self.kept), torch.zeros(FIGURES, dtype=torch.float64)
        figures[:j] = torch.tensordot(self.kept, g + q, 2)
        weight = (self.ridge + self.sigma) or rows
        figures[KEPT : KEPT + j] = weight * torch.tensordot(self.kept, D, 2)
        norm = self._slope(g + self.ridge * self.W).norm()
        apart, U, V = (float(each.norm()) for each in (self.W - self.U, self.U, self.V))
        figures[2 * KEPT :] = torch.tensor([float(norm), apart, self.grown, U, V, 0.0])
        return figures

    def _shrink(self) -> None:
        """Update U and V; nothing changes where W is U already."""
        before, relaxed = self.U, _RELAXED * self.W + (1 - _RELAXED) * self.U
        aim = relaxed + self.V / self.sigma
        self.U = aim.sign() * (aim.abs() - self.lasso / self.sigma).clamp(min=0)
        self.V = self.V + self.sigma * (relaxed - self.U)
        self.grown = float((self.U - before).norm())

    def _settle(self) -> Tensor:
        """Take U for W, and return it."""
        if self.lasso:
            with torch.no_grad():
                self.weight.copy_(self.U)
        return self.W

    def _settled(self, eta: Tensor, limit: float, *, rest: bool) -> tuple[Tensor, Tensor]:
        """Return a part of all linear predictors, (N, M)."""
        figures, whole = torch.zeros(FIGURES, dtype=torch.float64), eta.round()
        if float(whole.norm(dim=1).amax()) > limit:
            figures[-1] = 1.0
            return torch.zeros_like(eta), figures
        return (eta - whole) * finer(limit, eta.shape[1]) if rest else whole, figures

    def move(self, share: Tensor) -> None:
        """Take shares of the directions kept: (KEPT,)."""
        with torch.no_grad():
            self.weight.copy_(self.W + torch.tensordot(share[: len(self.kept)], self.kept, 1))

    def state_dict(self) -> State:
        """Return all that steps change, but for the coefficients."""
        return {name: getattr(self, name) for name in self._REMEMBERED}

    def load_state_dict(self, state: State) -> None:
        """Restore the state of `state_dict`."""
        restore(self, state)

    def _slope(self, g: Tensor) -> Tensor:
        """Return the subgradient of least norm, (F_k, M)."""
        at_zero = g.sign() * (g.abs() - self.lasso).clamp(min=0)
        return torch.where(self.W == 0, at_zero, g + self.lasso * self.W.sign())

    def _newton(self, X: Tensor, r: Tensor, g: Tensor) -> Tensor:
        """Return the Newton step of every output, (F_k, M)."""
        size = r.abs()
        h = torch.where(size < 1, size * (1 - size), size / 4).clamp(min=_LEAST_CURVATURE)
        if self.constant:
            h = torch.ones_like(h)
        return torch.stack([self._of_output(X, h[:, m], g[:, m]) for m in range(r.shape[1])], 1)

    def _of_output(self, X: Tensor, h: Tensor, g: Tensor) -> Tensor:
        P = X.T @ (h[:, None] * X)
        diagonal = P.diagonal()
        floor = _FLOOR * float(diagonal.amax()) + torch.finfo(P.dtype).tiny
        diagonal += self.ridge + self.sigma + floor
        return torch.cholesky_solve(-g[:, None], torch.linalg.cholesky(P))[:, 0]
