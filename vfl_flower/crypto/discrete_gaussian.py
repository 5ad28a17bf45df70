"""Exact samples of the discrete Gaussian, by Karney 2016 (arXiv:1303.6257), Algorithm D.

A sample of deviation sigma is s (k sigma + j): k from 0 with probability proportional to
exp(-k**2 / 2), a sign s, and j uniform below sigma, kept with probability
exp(-x (2 k + x) / 2) where x = j / sigma. Uniform numbers are compared with probabilities by their
first 32 bits, of probabilities that are known well enough to decide. Where those do not decide,
once in billions of times, more bits of both are made until they do: no rounding is left over.
"""

import math
import os
from bisect import bisect_left
from collections.abc import Iterator
from decimal import Decimal, getcontext, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, takewhile

import numpy as np

from vfl_flower.crypto.discrete_sampling import Entropy, Flags, Integers
from vfl_flower.crypto.fixed_point import Words

_BITS = 32
_MORE = 64
"""Bits that are added where fewer do not decide."""
_GUARD = 40
"""Decimal digits that are computed beyond those that are used."""
_ERROR = 2.0**-8
"""Beyond that of a float64 probability, in units of 2**-32; it is below 2**-14."""
_STRIP = 1 << 15
"""Samples that are tried at a time, so that they stay in a core's cache."""


def discrete_gaussian(sigma: int, count: int, entropy: Entropy = os.urandom) -> Integers:
    """Draw integers n with probability proportional to exp(-n**2 / (2 sigma**2)).

    Parameters
    ----------
    sigma : int
        From 1 to 2**24.
    count : int
        How many.

    Returns
    -------
    ndarray of int64
        (count,).
    """
    drawn = np.empty(count, np.int64)
    filled = 0
    while filled < count:
        tries = min(3 * (count - filled) // 2 + 16, _STRIP)
        kept = _attempt(sigma, tries, entropy)[: count - filled]
        drawn[filled : filled + kept.size] = kept
        filled += kept.size
    return drawn


def _attempt(sigma: int, tries: int, entropy: Entropy) -> Integers:
    """Propose some samples; return those that are accepted."""
    words = np.frombuffer(entropy(12 * tries), np.uint32).reshape(3, tries)
    k = _whole(words[0], entropy)
    negative, rest = words[1] & 1, words[1] >> 1
    j = (rest % np.uint32(sigma)).astype(np.int64)
    good = rest < 2**31 - 2**31 % sigma  # what lies above would favour small j
    good &= (k + j > 0) | (negative == 0)  # else zero would come twice as often
    good &= _kept(words[2], j * (2 * k * sigma + j), 2 * sigma**2, entropy)
    n = k * sigma + j
    kept: Integers = np.where(negative, -n, n)[good]
    return kept


def _whole(words: Words, entropy: Entropy) -> Integers:
    """Draw k by its cumulative probabilities."""
    edges = np.array(_edges(_BITS), np.uint32)
    k: Integers = np.searchsorted(edges, words)
    for at in np.flatnonzero(edges[k] == words):
        word, bits = int(words[at]), _BITS
        while word == _edges(bits)[k[at]]:
            word, bits = _extended(word, entropy), bits + _MORE
            k[at] = bisect_left(_edges(bits), word)
    return k


def _kept(
    words: Words,
    numerators: Integers,
    denominator: int,
    entropy: Entropy,
) -> Flags:
    """Draw flags that are true with probability exp(-numerator / denominator)."""
    edges = np.exp(numerators / -float(denominator)) * 2.0**_BITS
    below: Flags = words < edges - (1 + _ERROR)
    for at in np.flatnonzero(~below & (words < edges + _ERROR)):
        below[at] = _is_below(int(words[at]), Fraction(int(numerators[at]), denominator), entropy)
    return below


def _is_below(word: int, exponent: Fraction, entropy: Entropy) -> bool:
    """Compare a uniform number, of which 32 bits are known, with exp(-exponent)."""
    bits = _BITS
    while word == (edge := _exponential(exponent, bits)):
        word, bits = _extended(word, entropy), bits + _MORE
    return word < edge


def _extended(word: int, entropy: Entropy) -> int:
    return word << _MORE | int.from_bytes(entropy(_MORE // 8), "little")


def _exponential(exponent: Fraction, bits: int) -> int:
    """Return the first bits of exp(-exponent), rounded down."""
    with localcontext(prec=_digits(bits)):
        power = -Decimal(exponent.numerator) / Decimal(exponent.denominator)
        return _floor(power.exp(), bits)


@lru_cache
def _edges(bits: int) -> list[int]:
    """Return the first bits of the cumulative probabilities of k, rounded down.

    The last one is the largest number of so many bits.
    """
    with localcontext(prec=_digits(bits)):
        weights = list(_weights())
        total = sum(weights)
        floors = (_floor(reached / total, bits) for reached in accumulate(weights))
        return [*takewhile(lambda edge: edge < 2**bits - 1, floors), 2**bits - 1]


def _weights() -> Iterator[Decimal]:
    """Yield exp(-k**2 / 2) until the precision ends."""
    k, least = 0, Decimal(10) ** -getcontext().prec
    while (weight := (Decimal(-k * k) / 2).exp()) > least:
        yield weight
        k += 1


def _floor(probability: Decimal, bits: int) -> int:
    """Round a probability's first bits down, which its error must not change."""
    scaled = probability * 2**bits
    error = Decimal(10) ** (10 - _GUARD)
    low: int = math.floor(scaled - error)
    high: int = math.floor(scaled + error)
    if low != high and probability != 1:
        raise ArithmeticError(f"{_GUARD} digits more do not decide {bits} bits")
    return high


def _digits(bits: int) -> int:
    return bits * 3 // 10 + 2 + _GUARD
