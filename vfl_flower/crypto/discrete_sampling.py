"""Exact samplers: integers from the operating system's entropy, and no floating-point numbers.

A Laplace sample computed with floating-point logarithms takes only some of the values that it
should, and which ones depends on what the noise was to hide (Mironov 2012). Here every probability
is a ratio of integers, or a product of such. Discrete Laplace samples are Algorithm 2 of Canonne,
Kamath and Steinke 2020 (arXiv:2004.00010), for all samples at once.
"""

import os
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Entropy = Callable[[int], bytes]
"""From a number of bytes to so many random ones; tests may put another than the system's."""

_WORD = 1 << 63


def below(bound: int, count: int, entropy: Entropy = os.urandom) -> Integers:
    """Draw integers uniformly from 0 to ``bound - 1``.

    Parameters
    ----------
    bound : int
        From 1 to 2**62.
    count : int
        How many.
    """
    limit = _WORD - _WORD % bound  # what lies above would favour small numbers
    words = _words(count, entropy)
    while (high := np.flatnonzero(words >= limit)).size:
        words[high] = _words(high.size, entropy)
    return (words % np.uint64(bound)).view(np.int64)


def _words(count: int, entropy: Entropy) -> NDArray[np.uint64]:
    """Draw integers uniformly below 2**63."""
    return np.frombuffer(entropy(8 * count), np.uint64) >> np.uint64(1)


def bernoulli_exp(numerators: Integers, denominator: int, entropy: Entropy = os.urandom) -> Flags:
    """Draw flags that are true with probability exp(-numerator / denominator).

    Parameters
    ----------
    numerators : ndarray of int64
        From 0 to the denominator.
    denominator : int
    """
    trials = np.zeros(len(numerators), np.int64)
    going, k = np.arange(len(numerators)), 0
    while going.size:  # how often in a row (numerator / denominator) / k happens, k = 1, 2, ...
        k += 1
        happens = below(denominator * k, going.size, entropy) < numerators[going]
        trials[going] += 1
        going = going[happens]
    odd: Flags = trials % 2 == 1
    return odd


def discrete_laplace(rate: Fraction, count: int, entropy: Entropy = os.urandom) -> Integers:
    """Draw integers n with probability proportional to exp(-rate |n|).

    Parameters
    ----------
    rate : Fraction
        Positive, with numerator and denominator below 2**40.
    count : int
        How many.

    Returns
    -------
    ndarray of int64
        (count,).
    """
    s, t = rate.numerator, rate.denominator
    return _accepted(count, lambda missing: _laplace_try(s, t, missing, entropy))


def _accepted(count: int, attempt: Callable[[int], tuple[Integers, Flags]]) -> Integers:
    """Draw samples by rejection, until each is accepted once."""
    drawn = np.empty(count, np.int64)
    missing = np.arange(count)
    while missing.size:
        tried, good = attempt(missing.size)
        drawn[missing[good]] = tried[good]
        missing = missing[~good]
    return drawn


def _laplace_try(s: int, t: int, count: int, entropy: Entropy) -> tuple[Integers, Flags]:
    """Propose each sample once; return proposals and acceptance flags."""
    u = below(t, count, entropy)
    good = bernoulli_exp(u, t, entropy)
    v = np.zeros(count, np.int64)
    going = np.flatnonzero(good)
    while going.size:
        going = going[bernoulli_exp(np.ones(going.size, np.int64), 1, entropy)]
        v[going] += 1
    magnitude = (u + t * v) // s
    negative = below(2, count, entropy) == 1
    good &= ~(negative & (magnitude == 0))  # else zero would come twice as often
    return np.where(negative, -magnitude, magnitude), good
