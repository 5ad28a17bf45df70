"""State of the solver at the party that has the labels."""

import math

import torch
from torch import Tensor

from vfl_flower.algorithms.linear_models.likelihood import Likelihood
from vfl_flower.algorithms.linear_models.parts import KEPT, MARGIN, finer, units_of
from vfl_flower.algorithms.linear_models.path import Hyperparameters, Path
from vfl_flower.algorithms.linear_models.search import Penalty, least_curvature, search
from vfl_flower.common.state import State, restore, state_of

MOST_SCALE = 2.0**60
"""Of a direction, which is then as good as zero."""

_FIRST = 8.0
"""Linear predictor that a first Newton step may well have."""

_SMALL = 0.1
"""Share of the tolerance that the whole step is below where rounding ends all progress."""

_IN_A_ROW = 4
_NEARER, _SMALLER, _NONE = 4.0, 16.0, 0.5
SCALE, SIGMA, SETTLES, STRENGTH = range(4)
_LAST = 2.0
"""Part of linear predictors after which they are whole."""

_FIRST_SIGMA, _BALANCED, _EVERY = 10.0, 200, 5
"""Sigma in units of lasso; until which step it is balanced, and how often."""


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
    along : Tensor
        Linear predictors of the directions kept, (j, N, M), float32.
    products : Tensor
        Of these directions, D_i.D_j, (j, j), float64.
    whole : Tensor
        First part of linear predictors that are sent anew, scaled, (N, M), while the rest is due.
    told : list of float
        For `Block.answer`: scale, sigma, whether to settle (0, or the part that is due), and the
        strength of the penalty.
    norm : float
        Of the subgradient at the coefficients, at most; infinite where it is not known.
    size : float
        Largest linear predictor of the last direction, unscaled.
    fresh : bool
        Whether `eta` has just been sent anew.
    small : int
        Steps in a row that were small, without a gradient that shrank.
    least : float
        Least norm so far.
    aim : float
        Of lasso: how near W and U are when parties settle next.
    curvature : float
        Least curvature of the loss that the directions kept show; 0 before they do.
    steps : int
        Exchanges so far, with this strength.
    path : Path
        Strengths of the penalty, and how each ended.
    """

    _REMEMBERED = (
        *("eta", "intercept", "along", "products", "told", "norm", "size", "least", "fresh"),
        *("small", "aim", "curvature", "steps", "whole", "path"),
    )

    def __init__(self, rows: int, outputs: int, options: Hyperparameters, limit: float) -> None:
        self.options, self.limit = options, limit
        self.eta = torch.zeros(rows, outputs, dtype=torch.float64)
        self.whole = torch.zeros_like(self.eta[:0])
        self.intercept = torch.zeros(outputs, dtype=torch.float64)
        self.along = torch.zeros(0, rows, outputs)
        self.products = torch.zeros(0, 0, dtype=torch.float64)
        self.units, self.range = units_of(limit, rows), limit / MARGIN
        self.size = _FIRST
        self.curvature = 0.0
        self.path = Path(options)
        self._begin()

    def _begin(self) -> None:
        """Begin with the next strength, where the one before ended."""
        strength = self.path.strength
        sigma = _FIRST_SIGMA * strength * self.options.lasso
        self.told = [_power(self.size, self.range), sigma, 0.0, strength]
        self.norm = self.least = math.inf
        self.fresh, self.small, self.steps, self.aim = False, 0, 0, self.options.tolerance

    @property
    def error(self) -> float:
        """Error of coefficients by gradient and curvature.

        None is farther from its optimum, unless the loss is flatter than the directions show.
        """
        curvature = self._ridge + self.curvature
        return self.norm / curvature if curvature else math.inf

    def residual(self, loss: Likelihood) -> Tensor:
        """Return the residual, (N, M) float32; fit the intercepts at first."""
        if not self.eta.any():
            self._fit_intercepts(loss)
        return loss.residual(self.eta).float()

    def step(self, loss: Likelihood, xi: Tensor, figures: Tensor) -> Tensor:
        """Search for the step, and take it.

        Parameters
        ----------
        loss : Likelihood
            Of the training rows.
        xi : Tensor
            Scaled linear predictors of the direction, or of all coefficients, if parties were told
            to settle: all parties' sum, (N, M).
        figures : Tensor
            All parties' sum of `Block.answer`'s, (FIGURES,).

        Returns
        -------
        Tensor
            How far to go along the directions kept, (KEPT,) float32, as it travels.
        """
        share, figures = torch.zeros(KEPT), figures / self.units
        self.steps, self.path.arrived = self.steps + 1, False
        if self.told[SETTLES]:
            self._settle(loss, xi, fits=bool(figures[-1] < _NONE))
            return share
        self.norm = float(figures[2 * KEPT]) if self.fresh or not self.options.lasso else math.inf
        self._keep(xi, figures[KEPT : 2 * KEPT])
        j = len(self.along)
        found, grown = self._search(loss, figures[:j])
        if self.fresh and self._near:
            self.path.arrive(self.error)
            if not self.path.end:
                self._begin()
            return share
        share[:j] = found
        self.eta = self.eta + torch.tensordot(found, self.along.double(), 1) + grown
        self.intercept = self.intercept + grown
        self._plan(*figures[2 * KEPT + 1 : -1].tolist())
        self.fresh = False
        return share

    def _search(self, loss: Likelihood, slope: Tensor) -> tuple[Tensor, Tensor]:
        """Return the shares of directions, as they travel, and the intercepts' growth."""
        along = self.along.double()
        # Directions are nearly parallel in the end, and what is left where they cancel is rounding:
        # so their slope is the parties' own, not that of directions as they were sent.
        slope = slope - torch.tensordot(along, loss.residual(self.eta).float().double(), 2)
        found, grown = search(loss, self.eta, along, Penalty(slope, self._weight * self.products))
        found = found.float().double()
        length = math.sqrt(max(float(found @ self.products @ found), 0.0))
        small = length <= _SMALL * self.options.tolerance and self.norm >= self.least / 2
        self.small = self.small + 1 if small else 0
        self.least = min(self.least, self.norm)
        if self.fresh:
            self.curvature = least_curvature(loss, self.eta, along, self.products)
        return found, grown

    def state_dict(self) -> State:
        """Return all that steps change."""
        return {name: state_of(getattr(self, name)) for name in self._REMEMBERED}

    def load_state_dict(self, state: State) -> None:
        """Restore the state of `state_dict`."""
        restore(self, state)

    @property
    def _near(self) -> bool:
        small = self.small >= _IN_A_ROW and not self.options.lasso  # ADMM's can all be small
        return self.error <= self.options.tolerance or small

    @property
    def _weight(self) -> float:
        """Weight of half the squared norm in the smooth problem."""
        return self._ridge + self.told[SIGMA]

    @property
    def _ridge(self) -> float:
        return self.options.ridge * self.told[STRENGTH]

    def _fit_intercepts(self, loss: Likelihood) -> None:
        none = Penalty(self.eta.new_zeros(0), self.eta.new_zeros(0, 0))
        _, grown = search(loss, self.eta, self.eta[None][:0], none)
        self.intercept, self.eta = self.intercept + grown, self.eta + grown

    def _settle(self, loss: Likelihood, xi: Tensor, *, fits: bool) -> None:
        """Take linear predictors sent anew, or ask for smaller ones."""
        if not fits:
            self.told[SCALE] /= _SMALLER  # of the first part: the second is as large or smaller
            return
        scale, sigma, part, strength = self.told
        if part < _LAST:
            self.whole, self.told[SETTLES] = xi, _LAST
            return
        predictors = self.whole + xi / finer(self.limit, xi.shape[1])
        self.eta, self.whole = predictors / scale + self.intercept, self.whole[:0]
        self._fit_intercepts(loss)
        self.fresh = True
        self.told = [_power(self.size, self.range), sigma, 0.0, strength]

    def _keep(self, xi: Tensor, products: Tensor) -> None:
        """Add a direction, and drop the oldest of too many."""
        self.along = torch.cat([self.along[-KEPT + 1 :], xi.float()[None]])
        j = len(self.along)
        made = torch.zeros(j, j, dtype=torch.float64)
        made[:-1, :-1] = self.products[-j + 1 :, -j + 1 :] if j > 1 else made[:-1, :-1]
        made[-1] = made[:, -1] = products[:j] / (self._weight or len(xi))
        self.products = made
        self.size = float(xi.abs().amax()) / self.told[SCALE]

    def _plan(self, apart: float, grown: float, U: float, V: float) -> None:
        """Choose the next scale and sigma, and whether to settle."""
        sigma, settles = self.told[SIGMA], self._near
        if self.options.lasso:
            settles = not self.fresh and self.steps > _EVERY and max(apart, grown) <= self.aim
            self.aim /= _NEARER if settles else 1
            if self.steps % _EVERY == 0 and self.steps < _BALANCED and grown and U and V:
                off = math.sqrt(apart / U * V / (sigma * grown))
                sigma *= min(max(off, 0.1), 10.0) if not 0.5 <= off <= 2 else 1.0
        size = 2 * float((self.eta - self.intercept).abs().amax()) if settles else self.size
        self.told = [_power(size, self.range), sigma, float(settles), self.told[STRENGTH]]


def _power(size: float, aim: float) -> float:
    """Return the power of two that brings a size near another."""
    if not size:
        return 1.0
    return min(2.0 ** round(math.log2(aim / size)), MOST_SCALE)
