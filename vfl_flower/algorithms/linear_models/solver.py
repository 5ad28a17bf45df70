"""State of the solver at the party that has the labels."""

import math
from typing import Protocol

import torch
from torch import Tensor

from vfl_flower.algorithms.linear_models.block import MARGIN, units_of
from vfl_flower.algorithms.linear_models.likelihood import Likelihood
from vfl_flower.algorithms.linear_models.search import Penalty, search, within
from vfl_flower.common.state import State, restore

MOST_SCALE = 2.0**60
"""Of a direction, which is then as good as zero."""

_FIRST = 8.0
"""Linear predictor that a first Newton step may well have."""

_NEWTON = 0.01
"""Share of the tolerance that Newton steps are below at the end, without ridge."""


class Hyperparameters(Protocol):
    """Options that the minimum and its search depend on."""

    @property
    def ridge(self) -> float:
        """Weight of half the squared norm."""

    @property
    def lasso(self) -> float:
        """Weight of the sum of magnitudes."""

    @property
    def tolerance(self) -> float:
        """Error of the coefficients at which training ends."""


class Solver:
    """Linear predictors of the training rows, and the search for steps.

    Parameters
    ----------
    rows, outputs : int
        N and M.
    options : Hyperparameters
        Of the method.
    limit : float
        Largest norm of a row of a party's direction.

    Attributes
    ----------
    eta : Tensor
        Linear predictors, (N, M), float64.
    intercept : Tensor
        (M,), float64.
    last : Tensor
        Linear predictors of the last step, without intercepts, (N, M).
    scales : list of float
        What parties multiply the next direction and the last step with: powers of two.
    norm : float
        Of the gradient before the last step, at most; infinite before the first.
    size : float
        Largest linear predictor of the last direction, unscaled.
    """

    _KEPT = ("eta", "intercept", "last", "scales", "norm", "size")

    def __init__(self, rows: int, outputs: int, options: Hyperparameters, limit: float) -> None:
        self.options, self.limit = options, limit
        self.eta = torch.zeros(rows, outputs, dtype=torch.float64)
        self.last = torch.zeros_like(self.eta)
        self.intercept = torch.zeros(outputs, dtype=torch.float64)
        self.units, self.aim = units_of(limit, rows), limit / MARGIN
        self.scales = [_power(_FIRST, self.aim), 1.0]
        self.norm = self.size = math.inf

    @property
    def error(self) -> float:
        """Bound of every coefficient's error; infinite without ridge."""
        return self.norm / self.options.ridge if self.options.ridge else math.inf

    @property
    def converged(self) -> bool:
        """Whether the coefficients are as near the optimum as asked for."""
        tolerance = self.options.tolerance
        if self.options.ridge:
            return self.error <= tolerance
        return self.size <= _NEWTON * tolerance

    def residual(self, loss: Likelihood) -> Tensor:
        """Return the residual, (N, M) float32; fit the intercepts at first."""
        if not self.eta.any():
            none = Penalty(self.eta.new_zeros(0), self.eta.new_zeros(0, 0))
            _, grown = search(loss, self.eta, self.eta[None][:0], none)
            self._add(grown)
        return loss.residual(self.eta).float()

    def step(self, loss: Likelihood, xi: Tensor, figures: Tensor) -> Tensor:
        """Search for the step, and take it.

        Parameters
        ----------
        loss : Likelihood
            Of the training rows.
        xi : Tensor
            Linear predictors of the scaled direction, all parties' sum, (N, M).
        figures : Tensor
            All parties' sum of `Block.direction`'s, (7,).

        Returns
        -------
        Tensor
            How far to go along direction and last step, (2,) float32, as it travels.
        """
        WD, WS, DD, DS, SS, growth, norm = (figures / self.units).unbind()
        again = self.scales[1] * self.last
        if self.options.lasso:
            penalty = Penalty((WD + growth)[None], DD[None, None])
            found, grown = within(loss, self.eta, xi[None], penalty, 1 / self.scales[0])
            found = torch.cat([found, found.new_zeros(1)])
        else:
            curvature = torch.stack([torch.stack([DD, DS]), torch.stack([DS, SS])])
            along = torch.stack([xi, again])
            found, grown = search(loss, self.eta, along, Penalty(torch.stack([WD, WS]), curvature))
        share = found.float()
        a, b = share.double()
        self.last = a * xi + b * again
        self.eta = self.eta + self.last
        self._add(grown)
        self.norm = float(norm)
        self._scale(float(xi.abs().amax()))
        return share

    def told(self, step: int) -> str:
        """Tell that training ended too early, and how far it came."""
        bound = f" (they may be {self.error:.2g} off)" if math.isfinite(self.error) else ""
        return (
            f"after {step} steps the coefficients have not converged to "
            f"{self.options.tolerance:g}{bound}; use more epochs, or a larger ridge"
        )

    def figures(self) -> dict[str, float]:
        """Return convergence and, with ridge, the bound of the error."""
        bound = {"coefficient_error": self.error} if math.isfinite(self.error) else {}
        return {"converged": float(self.converged), **bound}

    def state_dict(self) -> State:
        """Return all that steps change."""
        return {name: getattr(self, name) for name in self._KEPT}

    def load_state_dict(self, state: State) -> None:
        """Restore the state of `state_dict`."""
        restore(self, state)

    def _add(self, grown: Tensor) -> None:
        self.intercept, self.eta = self.intercept + grown, self.eta + grown

    def _scale(self, largest: float) -> None:
        """Choose the next scales, by the largest linear predictors now."""
        self.size = largest / self.scales[0]
        of_last = float(self.last.abs().amax())
        self.scales = [_power(self.size, self.aim), _power(of_last, self.aim)]


def _power(size: float, aim: float) -> float:
    """Return the power of two that brings a size near another."""
    if not size:
        return 1.0
    return min(2.0 ** round(math.log2(aim / size)), MOST_SCALE)
