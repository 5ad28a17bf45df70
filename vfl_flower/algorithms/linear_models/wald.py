"""Wald statistics of coefficients: z or t, p-value and interval.

Of classes b / s is compared with the standard normal distribution, as in statsmodels' `Logit` and
R's `glm`; of numbers with Student's, as in `OLS` and `lm`. p-values are two-sided.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtr, stdtrit

Matrix = NDArray[np.float64]

_UPPER = 0.975
"""Quantile at the upper end of the interval of 95 %."""


def wald_titles(freedom: float) -> Sequence[str]:
    """Return the titles of the statistics' columns."""
    ends = ("lower 95 %", "upper 95 %")
    return ("standard error", "t" if freedom else "z", "p-value", *ends)


def wald(coefficient: Matrix, error: Matrix, freedom: float) -> Matrix:
    """Return error, statistic, p-value and both ends of the interval.

    Parameters
    ----------
    coefficient : ndarray of float64
        (F,).
    error : ndarray of float64
        (F,), NaN where there is none; empty where there are none at all.
    freedom : float
        Degrees of freedom of the residual, or 0 for the normal distribution.

    Returns
    -------
    ndarray of float64
        (F, 5), NaN where there is no error.
    """
    error = error if len(error) else np.full(len(coefficient), np.nan)
    statistic = coefficient / error
    below = stdtr(freedom, -np.abs(statistic)) if freedom else ndtr(-np.abs(statistic))
    half = error * (stdtrit(freedom, _UPPER) if freedom else ndtri(_UPPER))
    ends = coefficient - half, coefficient + half
    made: Matrix = np.stack([error, statistic, 2 * below, *ends], 1)
    return made
