"""Exact samplers: the right distribution, from integers alone."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from vfl_flower.crypto.discrete_sampling import (
    below,
    bernoulli_exp,
    discrete_laplace,
)

MANY = 200_000


def entropy(seed: int = 0) -> random.Random:
    return random.Random(seed)  # noqa: S311


@given(bound=st.integers(1, 2**62), seed=st.integers(0, 2**32))
def test_below_stays_below(bound: int, seed: int) -> None:
    drawn = below(bound, 50, entropy(seed).randbytes)
    assert ((drawn >= 0) & (drawn < bound)).all()


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 10])
def test_below_is_uniform(bound: int) -> None:
    counts = np.bincount(below(bound, MANY, entropy().randbytes), minlength=bound)
    assert len(counts) == bound
    assert bound == 1 or chisquare(counts).pvalue > 0.001


def test_below_draws_again_what_would_favour_small_numbers() -> None:
    """Of 2**63 numbers, the last two do not fill a triple."""
    words = iter([2**64 - 1, 5 << 1])
    assert below(3, 1, lambda count: next(words).to_bytes(8, "little")).tolist() == [2]


@pytest.mark.parametrize(("numerator", "denominator"), [(0, 5), (1, 5), (3, 4), (1, 1)])
def test_bernoulli_exp(numerator: int, denominator: int) -> None:
    flags = bernoulli_exp(np.full(MANY, numerator), denominator, entropy().randbytes)
    p = math.exp(-numerator / denominator)
    assert abs(flags.mean() - p) <= 4 * math.sqrt(p * (1 - p) / MANY)


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(7, 40)])
def test_discrete_laplace_has_its_distribution(rate: Fraction) -> None:
    drawn = discrete_laplace(rate, MANY, entropy().randbytes)
    q = math.exp(-rate)
    widest = int(math.log(MANY / 200) / rate) or 1  # so that every value is expected often
    values = np.arange(-widest, widest + 1)
    expected = (1 - q) / (1 + q) * q ** np.abs(values) * MANY
    counts = np.array([(drawn == value).sum() for value in values])
    rest = MANY - counts.sum(), MANY - expected.sum()
    assert chisquare([*counts, rest[0]], [*expected, rest[1]]).pvalue > 0.001


@pytest.mark.parametrize("rate", [Fraction(1, 2048), Fraction(1, 20480), Fraction(1, 7)])
def test_discrete_laplace_has_its_moments(rate: Fraction) -> None:
    drawn = discrete_laplace(rate, MANY, entropy(1).randbytes)
    q = math.exp(-rate)
    variance = 2 * q / (1 - q) ** 2
    assert abs(drawn.mean()) < 4 * math.sqrt(variance / MANY)
    assert drawn.var() == pytest.approx(variance, rel=0.03)


def test_the_systems_entropy_is_the_default() -> None:
    one, other = (discrete_laplace(Fraction(1, 100), 50) for _ in range(2))
    assert not np.array_equal(one, other)
