"""Regularization path: multiples of the penalty, solved for one after the other."""

import math
from collections.abc import Sequence
from typing import Protocol

from vfl_flower.common.state import State, restore


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

    @property
    def strengths(self) -> Sequence[float]:
        """Multiples of both weights, in turn."""


class Path:
    """Strengths of the penalty in turn, and their coefficients' errors.

    Attributes
    ----------
    errors : list of float
        Of the coefficients of each strength that is done with.
    arrived : bool
        Whether the present coefficients are those of the last of these.
    counting : list of float
        Strength of the coefficients that count in the end, and their error; empty: the present.
    """

    _REMEMBERED = ("errors", "arrived", "counting")

    def __init__(self, options: Hyperparameters) -> None:
        self.options = options
        self.errors, self.counting = list[float](), list[float]()
        self.arrived = False

    @property
    def strength(self) -> float:
        """The strength whose coefficients are searched for, or the last."""
        strengths = self.options.strengths
        return strengths[min(len(self.errors), len(strengths) - 1)]

    @property
    def end(self) -> str:
        """Name of the end, once there is one: ``converged`` or ``rounding``."""
        if len(self.errors) < len(self.options.strengths):
            return ""
        return "converged" if max(self.errors) <= self.options.tolerance else "rounding"

    def arrive(self, error: float) -> None:
        """Note that the present coefficients are those of a strength."""
        self.errors.append(error)
        self.arrived = True

    def present(self, error: float) -> list[float]:
        """Return strength and error of the present coefficients."""
        if self.arrived:
            return [self.options.strengths[len(self.errors) - 1], self.errors[-1]]
        return [self.strength, error]

    def warning(self, error: float, *, last: bool) -> str:
        """Return a warning that the present coefficients are off, or nothing.

        Parameters
        ----------
        error : float
            Of the present coefficients.
        last : bool
            Whether there is no exchange after this.
        """
        (strength, error), tolerance = self.present(error), self.options.tolerance
        if self.arrived and error > tolerance:
            why = "rounding to 24 bits ended all progress; use a larger ridge"
        elif last and not self.end:
            why = "use more epochs, or a larger ridge"
        else:
            return ""
        bound = f" (they may be {error:.2g} off)" if math.isfinite(error) else ""
        which = f" of strength {strength:g}" if len(self.options.strengths) > 1 else ""
        return f"the coefficients{which} have not converged to {tolerance:g}{bound}: {why}"

    def figures(self, error: float) -> dict[str, float]:
        """Return convergence and the error's bound, of the coefficients that count."""
        strength, error = self.counting or self.present(error)
        found = {"converged": float(error <= self.options.tolerance)}
        if math.isfinite(error):
            found["coefficient_error"] = error
        return found | ({"strength": strength} if len(self.options.strengths) > 1 else {})

    def state_dict(self) -> State:
        """Return all that steps change."""
        return {name: getattr(self, name) for name in self._REMEMBERED}

    def load_state_dict(self, state: State) -> None:
        """Restore the state of `state_dict`."""
        restore(self, state)
