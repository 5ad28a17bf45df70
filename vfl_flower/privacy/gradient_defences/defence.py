"""Common base of defences of gradients."""

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from vfl_flower.common.names import load_object
from vfl_flower.config.catalog import TASKS
from vfl_flower.config.options.defences.gradients import read_defence
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.discrete_gaussian import discrete_gaussian
from vfl_flower.crypto.discrete_sampling import Entropy

Gradient = NDArray[np.float32]
Numbers = NDArray[np.float64]
Classes = NDArray[np.int64]

TAIL = 16
"""Deviations that no noise of a run exceeds, for bounds: once in 10**56 numbers it would."""

_FINENESS = 1 << 20
"""Steps of the grid of noise in one deviation."""


class GradientDefence(ABC):
    """A change of gradients before they leave the active party.

    Its class says which attack it answers, and what it costs. It guarantees nothing.

    Attributes
    ----------
    tasks : collection of str
        Those whose labels it can defend.
    """

    tasks: ClassVar[Collection[str]] = TASKS

    @abstractmethod
    def __init__(self, argument: float) -> None:
        """Take the number behind the colon of ``gradient-defence``."""

    @abstractmethod
    def changed(self, g: Gradient, classes: Classes, entropy: Entropy) -> Gradient:
        """Change one array of gradients.

        Parameters
        ----------
        g : ndarray of float32
            (B, W), finite.
        classes : ndarray of int64
            (B,), of the labels that the step teaches, which label privacy has noised.
        entropy : callable
            From a number of bytes to so many random ones.

        Returns
        -------
        ndarray of float32
            (B, W).
        """

    @abstractmethod
    def growth(self, rows: int, width: int) -> float:
        """Bound changed numbers, in multiples of the largest one before.

        Parameters
        ----------
        rows, width : int
            B and W.
        """


def defence_of(cfg: RunConfig) -> GradientDefence | None:
    """Return the run's defence of gradients; None without."""
    if not cfg.defended:
        return None
    spec, argument = read_defence(cfg.gradient_defence)
    made: GradientDefence = load_object(spec.build)(argument)
    return made


def single(values: Numbers) -> Gradient:
    """Round float64 to float32."""
    rounded: Gradient = values.astype(np.float32)
    return rounded


def gaussian(shape: tuple[int, ...], entropy: Entropy) -> Numbers:
    """Draw standard Gaussian noise, on a grid of 2**-20: float64."""
    drawn = discrete_gaussian(_FINENESS, int(np.prod(shape)), entropy)
    return (drawn / _FINENESS).reshape(shape)
