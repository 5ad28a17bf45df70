"""MARVELL: noise that makes the gradients of two classes alike.

Li et al. 2021, "Label Leakage and Protection in Two-party Split Learning", arXiv:2102.08504. The
gradients of a batch are taken as N(m_1, v I) for rows of the positive class, a share p, and as
N(m_0, u I) for the others, of width W. Noise N(0, S_1) and N(0, S_0) is added that minimises

    KL(N(m_1, v I + S_1) || N(m_0, u I + S_0)) + KL(the other way round)

with p tr(S_1) + (1 - p) tr(S_0) <= P = s |m_1 - m_0|^2, s the scale. By the paper's Theorem 2 the
best S_c has the eigenvalue x_c along m_1 - m_0 and y_c <= x_c across. With a_1 = v + x_1,
a_0 = u + x_0, b_1 = v + y_1, b_0 = u + y_0 the sum is

    [a_1/a_0 + a_0/a_1 + (W - 1) (b_1/b_0 + b_0/b_1) + |m_1 - m_0|^2 (1/a_0 + 1/a_1)] / 2 - W

which is convex in the logarithms of the four, and so are the conditions: a geometric programme,
solved here by SLSQP. u and v are mean squared distances to the class's mean, divided by W.

Answers
    Labels of two classes told by norm, by direction (cosine) and by spectral scoring; the sum
    bounds the error of every attack on one row's gradient, if gradients are as assumed.
Costs
    Gradients stay unbiased and get noisier, by less than isotropic noise of the same effect. It
    solves a problem of four unknowns for each array. Noise is fresh in every batch, so a row's mean
    over epochs has less of it. The assumption holds for no batch exactly.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from vfl_flower.config.catalog import BINARY
from vfl_flower.crypto.discrete_sampling import Entropy
from vfl_flower.privacy.gradient_defences.defence import (
    TAIL,
    Classes,
    Gradient,
    GradientDefence,
    Numbers,
    gaussian,
    single,
)

_LEAST = 1e-9
"""Least variance of a class, in units of |m_1 - m_0|^2: one row by itself has none."""


class Batch(NamedTuple):
    """Statistics of a batch of two classes, the paper's model of it.

    Attributes
    ----------
    between : ndarray
        m_1 - m_0, (W,).
    u, v : float
        Variances of a number, of negative and of positive rows; at least 1e-9 |m_1 - m_0|^2.
    share : float
        p.
    """

    between: Numbers
    u: float
    v: float
    share: float

    @property
    def distance(self) -> float:
        """|m_1 - m_0|^2."""
        return float(self.between @ self.between)


class Eigenvalues(NamedTuple):
    """Eigenvalues of the noise's covariances: along m_1 - m_0 and across.

    They are x_0, y_0 of negative rows and x_1, y_1 of positive ones.
    """

    x_0: float
    y_0: float
    x_1: float
    y_1: float


def statistics(g: Numbers, positive: Classes) -> Batch:
    """Compute the statistics of a batch.

    Parameters
    ----------
    g : ndarray
        (B, W).
    positive : ndarray
        (B,), 1 or 0; each occurs.
    """
    ones, zeros = g[positive == 1], g[positive == 0]
    between = ones.mean(0) - zeros.mean(0)
    least = _LEAST * float(between @ between)
    u, v = (max(float(each.var(0).mean()), least) for each in (zeros, ones))
    return Batch(between, u, v, float(positive.mean()))


def sum_of_divergences(batch: Batch, noise: Eigenvalues) -> float:
    """Compute the sum of both KL divergences under some noise."""
    a = np.array([batch.u + noise.x_0, batch.v + noise.x_1])
    b = np.array([batch.u + noise.y_0, batch.v + noise.y_1])
    width = len(batch.between)
    ratios = a[1] / a[0] + a[0] / a[1] + (width - 1) * (b[1] / b[0] + b[0] / b[1])
    return float(ratios + batch.distance * (1 / a).sum()) / 2 - width


def power(batch: Batch, noise: Eigenvalues) -> float:
    """Compute p tr(S_1) + (1 - p) tr(S_0)."""
    across = len(batch.between) - 1
    ones, zeros = noise.x_1 + across * noise.y_1, noise.x_0 + across * noise.y_0
    return batch.share * ones + (1 - batch.share) * zeros


def best_noise(batch: Batch, scale: float) -> Eigenvalues:
    """Minimise the sum of divergences under the power budget.

    Isotropic noise of the same power is where the search starts, and what is used should it come
    to nothing better.
    """
    width, own = len(batch.between), np.array([batch.u, batch.v]) / batch.distance
    floor = np.tile(own, 2)  # all in units of the distance
    start = floor + scale / width
    weights = np.array([1 - batch.share, batch.share])
    budget = scale + width * float(weights @ own)
    most = np.tile(budget / weights, 2)
    found = minimize(
        _divergences,
        np.log(start),
        args=(width,),
        jac=True,
        method="SLSQP",
        bounds=[*zip(np.log(floor), np.log(most), strict=True)],
        constraints=_conditions(np.concatenate([weights, (width - 1) * weights]) / budget),
        options={"ftol": 1e-10, "maxiter": 200},
    )
    even, best = (_eigenvalues(batch, scale, at - floor) for at in (start, np.exp(found.x)))
    return min(even, best, key=lambda each: sum_of_divergences(batch, each))


def _divergences(at: Numbers, width: int) -> tuple[float, Numbers]:
    """Compute half of the sum, and its slope, at the logarithms."""
    a, b = at[1] - at[0], at[3] - at[2]
    inverse = np.exp(-at[:2])
    value = np.cosh(a) + (width - 1) * np.cosh(b) + inverse.sum() / 2
    slopes = np.array([-np.sinh(a), np.sinh(a), -np.sinh(b), np.sinh(b)])
    slopes[2:] *= width - 1
    slopes[:2] -= inverse / 2
    return float(value), slopes


def _conditions(costs: Numbers) -> list[dict[str, Any]]:
    """State budget and order of eigenvalues at the logarithms.

    `costs` are what a_0, a_1, b_0 and b_1 take of the budget, in shares of it.
    """
    order = np.hstack([np.eye(2), -np.eye(2)])
    return [
        {
            "type": "ineq",
            "fun": lambda at: 1 - costs @ np.exp(at),
            "jac": lambda at: -costs * np.exp(at),
        },
        {"type": "ineq", "fun": lambda at: order @ at, "jac": lambda at: order},
    ]


def _eigenvalues(batch: Batch, scale: float, found: Numbers) -> Eigenvalues:
    """Return eigenvalues within the budget, from those in units of the distance."""
    x, across = np.maximum(np.nan_to_num(found[:2]), 0), np.maximum(np.nan_to_num(found[2:]), 0)
    y = np.minimum(x, across)
    made = Eigenvalues(*(batch.distance * each for each in (x[0], y[0], x[1], y[1])))
    over = power(batch, made) / (scale * batch.distance)
    return Eigenvalues(*(each / max(over, 1.0) for each in made))


class Marvell(GradientDefence):
    """Noise that makes two classes hard to tell apart, within a budget.

    A batch of one class, or of classes with one mean, gets isotropic noise of s times the rows'
    mean squared norm.

    Parameters
    ----------
    scale : float
        s.
    """

    tasks = (BINARY,)

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def changed(self, g: Gradient, classes: Classes, entropy: Entropy) -> Gradient:
        """See `GradientDefence`."""
        exact = g.astype(np.float64)
        noise = gaussian(g.shape, entropy)
        batch = statistics(exact, classes) if 0 < classes.sum() < len(classes) else None
        if batch is None or batch.distance == 0:
            deviation = np.sqrt(self.scale * np.square(exact).sum(1).mean() / g.shape[1])
            return single(exact + deviation * noise)
        found = best_noise(batch, self.scale)
        x = np.where(classes == 1, found.x_1, found.x_0)[:, None]
        y = np.where(classes == 1, found.y_1, found.y_0)[:, None]
        along = gaussian((len(g), 1), entropy) * batch.between / np.sqrt(batch.distance)
        return single(exact + np.sqrt(x - y) * along + np.sqrt(y) * noise)

    def growth(self, rows: int, width: int) -> float:
        """See `GradientDefence`.

        |m_1 - m_0| is at most 2 sqrt(W) times the largest number, and one row of B may have the
        whole budget.
        """
        return 1 + 2 * TAIL * float(np.sqrt(self.scale * rows * width))
