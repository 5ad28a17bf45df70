"""Epsilon of noised uploads, by both accountants."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from vfl_flower.config.catalog import ACCOUNTANTS
from vfl_flower.privacy.client_dp.accounting import (
    ORDERS,
    epsilon_of,
    least_sigma,
    most_uploads,
    rdp_epsilon,
)

DELTA = 1e-5


def theorem_2(sigma: float, uploads: int, delta: float) -> float:
    """Return VIM's Theorem 2 at the best of the accountant's orders."""
    return min(
        uploads * a / (2 * sigma**2)
        + math.log((a - 1) / a)
        - (math.log(delta) + math.log(a)) / (a - 1)
        for a in ORDERS
    )


@settings(max_examples=30, deadline=None)
@given(st.floats(0.5, 100), st.integers(1, 5000), st.sampled_from((1e-3, 1e-5, 1e-9)))
def test_rdp_is_theorem_2(sigma: float, uploads: int, delta: float) -> None:
    expected = theorem_2(sigma, uploads, delta)
    ours = epsilon_of(sigma, uploads, delta, "rdp")
    assert ours == pytest.approx(max(expected, 0.0), rel=1e-9)


def test_the_grid_of_orders_costs_next_to_nothing() -> None:
    """The best order of all lowers epsilon by less than 1e-4."""
    for sigma, uploads in ((8.0, 106), (1.0, 1000), (500.0, 10)):
        fine = 1 + np.geomspace(0.0101, 1e5, 200_000)
        values = (
            uploads * fine / (2 * sigma**2)
            + np.log1p(-1 / fine)
            - np.log(DELTA * fine) / (fine - 1)
        )
        assert epsilon_of(sigma, uploads, DELTA, "rdp") <= values.min() * 1.0001


def test_pld_is_tighter() -> None:
    """VIM's two epochs on MNIST."""
    assert epsilon_of(8.0, 106, DELTA, "rdp") == pytest.approx(6.33, abs=0.01)
    assert epsilon_of(8.0, 106, DELTA, "pld") == pytest.approx(5.88, abs=0.01)


@pytest.mark.parametrize("ratio", [0.05, 0.5, 1.0, 3.0, 50.0])
def test_pld_is_a_bound_and_a_close_one(ratio: float) -> None:
    """A Gaussian's exact delta at the found epsilon is at most delta."""
    epsilon = epsilon_of(ratio, 1, DELTA, "pld")
    exact = norm.cdf(0.5 / ratio - epsilon * ratio) - math.exp(epsilon) * norm.cdf(
        -0.5 / ratio - epsilon * ratio
    )
    assert 0.99 * DELTA <= exact <= DELTA * (1 + 1e-6)


@pytest.mark.parametrize("accountant", ACCOUNTANTS)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0, 100.0])
def test_the_least_noise_is_enough_and_no_more(epsilon: float, accountant: str) -> None:
    for uploads in (1, 17, 5000):
        sigma = least_sigma(epsilon, uploads, DELTA, accountant)
        assert epsilon_of(sigma, uploads, DELTA, accountant) <= epsilon
        assert epsilon_of(sigma * 0.999 - 0.001, uploads, DELTA, accountant) > epsilon
        assert most_uploads(epsilon, sigma, DELTA, accountant) >= uploads


@pytest.mark.parametrize("accountant", ACCOUNTANTS)
def test_the_most_uploads_are_within_the_target(accountant: str) -> None:
    most = most_uploads(8.0, 8.0, DELTA, accountant)
    assert most > 106
    assert epsilon_of(8.0, most, DELTA, accountant) <= 8
    assert epsilon_of(8.0, most + 1, DELTA, accountant) > 8


def test_no_upload_costs_nothing() -> None:
    assert epsilon_of(2.0, 0, DELTA, "rdp") == 0
    assert rdp_epsilon(0.01, DELTA) < math.inf
