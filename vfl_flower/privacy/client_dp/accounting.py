"""Privacy accounting: composition of Gaussian mechanisms to (epsilon, delta).

An upload has sensitivity C and noise of deviation sigma C. T of them, chosen in the light of those
before, are as private as a single one with noise multiplier sigma / sqrt(T), so one number, the
*ratio*, says it all. Two accountants bound epsilon:

    rdp  Renyi differential privacy: an upload has alpha / (2 sigma^2) at order alpha, T add up, and
         epsilon = min over alpha of T alpha / (2 sigma^2) + log((alpha - 1) / alpha)
                   - (log delta + log alpha) / (alpha - 1)          (VIM's Theorem 2)
    pld  the privacy loss's distribution, rounded up to a grid; tighter

The first is exact for discrete Gaussian noise too (Canonne, Kamath and Steinke 2020). The second is
the continuous Gaussian's, which steps of a millionth of the deviation cannot be told from.
"""

import math
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from vfl_flower.common.names import load_object
from vfl_flower.common.optional.extras import require
from vfl_flower.config.catalog import ACCOUNTANTS

ORDERS: tuple[float, ...] = tuple((1 + np.geomspace(0.0101, 1e5, 1000)).tolist())
"""Renyi orders alpha; their grid costs less than a ten-thousandth of epsilon."""

GRID = 1e-4
"""Where losses are rounded up to, in the pld accountant: epsilon's smallest share, and itself."""

_PRECISE = 1e-5
"""By how much a least ratio may be larger than needed, relatively."""


def rdp_epsilon(ratio: float, delta: float) -> float:
    """Return epsilon by Renyi differential privacy."""
    require("dp_accounting", "the epsilon of noised uploads")
    # dp-accounting is slow to import
    from dp_accounting import GaussianDpEvent, NeighboringRelation
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant(ORDERS, NeighboringRelation.REPLACE_SPECIAL)
    return float(accountant.compose(GaussianDpEvent(ratio)).get_epsilon(delta))


def pld_epsilon(ratio: float, delta: float) -> float:
    """Return epsilon by the distribution of the privacy loss."""
    require("dp_accounting", "the epsilon of noised uploads")
    # dp-accounting is slow to import
    from dp_accounting import GaussianDpEvent, NeighboringRelation
    from dp_accounting.pld import PLDAccountant

    interval = GRID * max(1.0, rdp_epsilon(ratio, delta))  # a fixed one would fill the memory
    accountant = PLDAccountant(NeighboringRelation.REPLACE_SPECIAL, interval)
    return float(accountant.compose(GaussianDpEvent(ratio)).get_epsilon(delta))


def _accountant_of(name: str) -> Callable[[float, float], float]:
    """Import an accountant: from ratio and delta to epsilon."""
    accountant: Callable[[float, float], float] = load_object(ACCOUNTANTS[name])
    return accountant


@cache
def epsilon_of(sigma: float, uploads: int, delta: float, accountant: str) -> float:
    """Return the epsilon of `uploads` uploads with one noise multiplier.

    Parameters
    ----------
    sigma : float
        The deviation of the noise over the sensitivity.
    uploads : int
        From 0.
    delta : float
    accountant : {"rdp", "pld"}
    """
    if not uploads:
        return 0.0
    return _accountant_of(accountant)(sigma / math.sqrt(uploads), delta)


def weight_of(uploads: Mapping[float, int]) -> float:
    """Compose uploads with several noise multipliers: their number over its square, summed.

    The composition of Gaussian mechanisms, whichever accountant follows it, is the one Gaussian
    mechanism with multiplier ``1 / sqrt(weight)``.

    Parameters
    ----------
    uploads : mapping of float to int
        Number of uploads by noise multiplier.
    """
    return math.fsum(count / sigma**2 for sigma, count in uploads.items())


@cache
def epsilon_of_weight(weight: float, delta: float, accountant: str) -> float:
    """Return the epsilon of composed uploads; see `weight_of`."""
    return _accountant_of(accountant)(1 / math.sqrt(weight), delta) if weight else 0.0


def most_weight(epsilon: float, delta: float, accountant: str) -> float:
    """Return the largest weight of composed uploads within an epsilon."""
    return _least_ratio(epsilon, delta, accountant) ** -2 if epsilon else 0.0


@cache
def _least_ratio(epsilon: float, delta: float, accountant: str) -> float:
    """Find the smallest sigma / sqrt(uploads) within an epsilon by bisection."""
    spent = _accountant_of(accountant)
    low = high = 1.0
    while spent(high, delta) > epsilon:
        low, high = high, 2 * high
    while spent(low, delta) <= epsilon:
        low, high = low / 2, low
    while high / low > 1 + _PRECISE:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if spent(middle, delta) <= epsilon else (middle, high)
    return high


def least_sigma(epsilon: float, uploads: int, delta: float, accountant: str) -> float:
    """Return the smallest sufficient noise multiplier, rounded up to a thousandth."""
    return math.ceil(1000 * _least_ratio(epsilon, delta, accountant) * math.sqrt(uploads)) / 1000


def most_uploads(epsilon: float, sigma: float, delta: float, accountant: str) -> int:
    """Return how many uploads with one noise multiplier keep within an epsilon."""
    return math.floor((sigma / _least_ratio(epsilon, delta, accountant)) ** 2)
