"""MARVELL's noise is the best within its budget."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vfl_flower.privacy.gradient_defences.defence import Classes, Numbers
from vfl_flower.privacy.gradient_defences.marvell import (
    Batch,
    Eigenvalues,
    Marvell,
    best_noise,
    power,
    statistics,
    sum_of_divergences,
)

problems = st.builds(
    lambda width, distance, u, v, share: Batch(
        np.full(width, np.sqrt(distance / width)), u, v, share
    ),
    st.integers(1, 64),
    st.floats(1e-6, 1e6),
    st.floats(1e-6, 1e2),
    st.floats(1e-6, 1e2),
    st.floats(0.01, 0.99),
)
scales = st.floats(0.01, 100)
FEWER = settings(max_examples=40)


def even(batch: Batch, scale: float) -> Eigenvalues:
    """Return isotropic noise of the whole budget."""
    each = scale * batch.distance / len(batch.between)
    return Eigenvalues(each, each, each, each)


def two_classes(ones: int = 12, width: int = 3) -> tuple[Numbers, Classes]:
    random, classes = np.random.default_rng(5), (np.arange(40) < ones).astype(np.int64)
    g = random.normal(size=(40, width)) * 0.2 + classes[:, None] * [1.0, -0.5, 2.0][:width]
    return g, classes


def divergence(to: tuple[Numbers, Numbers], of: tuple[Numbers, Numbers]) -> float:
    """Compute KL(of || to) of two Gaussians, as mean and covariance each."""
    (m, S), (n, T) = of, to
    inverse, apart = np.linalg.inv(T), n - m
    logs = np.linalg.slogdet(T)[1] - np.linalg.slogdet(S)[1]
    return float(np.trace(inverse @ S) + apart @ inverse @ apart - len(m) + logs) / 2


def test_the_sum_is_that_of_two_gaussians() -> None:
    batch, noise = Batch(np.array([1.0, -0.5, 2.0]), 0.3, 0.7, 0.4), Eigenvalues(3, 1, 2, 0.5)
    line = np.outer(batch.between, batch.between) / batch.distance
    across = np.eye(3) - line
    zeros = np.zeros(3), batch.u * np.eye(3) + noise.x_0 * line + noise.y_0 * across
    ones = batch.between, batch.v * np.eye(3) + noise.x_1 * line + noise.y_1 * across
    expected = divergence(zeros, ones) + divergence(ones, zeros)
    assert sum_of_divergences(batch, noise) == pytest.approx(expected)


@FEWER
@given(batch=problems, scale=scales)
def test_the_budget_is_kept_and_the_noise_a_covariance(batch: Batch, scale: float) -> None:
    found = best_noise(batch, scale)
    assert power(batch, found) <= scale * batch.distance * (1 + 1e-9)
    assert min(found) >= 0
    assert found.x_0 >= found.y_0
    assert found.x_1 >= found.y_1


@FEWER
@given(batch=problems, scale=scales)
def test_no_isotropic_noise_of_the_same_power_is_better(batch: Batch, scale: float) -> None:
    best, same = best_noise(batch, scale), even(batch, scale)
    assert sum_of_divergences(batch, best) <= sum_of_divergences(batch, same) * (1 + 1e-9)


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_it_is_clearly_better_on_separate_classes(scale: float) -> None:
    g, classes = two_classes()
    batch = statistics(g, classes)
    best, same = best_noise(batch, scale), even(batch, scale)
    assert sum_of_divergences(batch, best) < 0.75 * sum_of_divergences(batch, same)
    assert power(batch, best) == pytest.approx(power(batch, same), rel=1e-6)


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_no_other_noise_within_the_budget_is_better(scale: float) -> None:
    g, classes = two_classes()
    batch, random = statistics(g, classes), np.random.default_rng(0)
    least = sum_of_divergences(batch, best_noise(batch, scale))
    for _ in range(3000):
        tried = np.sort(random.dirichlet([0.3] * 4).reshape(2, 2), 1)[:, ::-1].ravel()
        spent = power(batch, Eigenvalues(*tried))
        noise = Eigenvalues(*(tried * scale * batch.distance / spent))
        assert sum_of_divergences(batch, noise) >= least * (1 - 1e-4)


def test_statistics_are_those_of_the_rows() -> None:
    g, classes = two_classes()
    batch = statistics(g, classes)
    assert np.allclose(batch.between, g[:12].mean(0) - g[12:].mean(0))
    assert batch.share == 0.3
    assert batch.v == pytest.approx(np.square(g[:12] - g[:12].mean(0)).mean())
    assert batch.u == pytest.approx(np.square(g[12:] - g[12:].mean(0)).mean())


def test_the_noise_of_each_class_has_its_covariance() -> None:
    exact, classes = two_classes()
    g = exact.astype(np.float32)
    batch = statistics(g.astype(np.float64), classes)
    found, line = best_noise(batch, 1.0), batch.between / np.sqrt(batch.distance)
    entropy = np.random.default_rng(2).bytes
    drawn = np.stack([Marvell(1.0).changed(g, classes, entropy) - g for _ in range(200)])
    for label, x, y in ((0, found.x_0, found.y_0), (1, found.x_1, found.y_1)):
        noise = drawn[:, classes == label].reshape(-1, 3).astype(np.float64)
        expected = (x - y) * np.outer(line, line) + y * np.eye(3)
        assert np.allclose(np.cov(noise.T), expected, atol=0.08 * x)


@pytest.mark.parametrize("label", [0, 1])
def test_a_batch_of_one_class_gets_noise_of_its_own_power(label: int) -> None:
    g = two_classes()[0].astype(np.float32)
    entropy = np.random.default_rng(2).bytes
    classes = np.full(len(g), label)
    drawn = np.stack([Marvell(2.0).changed(g, classes, entropy) - g for _ in range(300)])
    expected = 2 * np.square(g).sum(1).mean()
    assert np.square(drawn).sum(2).mean() == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("ones", [1, 39])
def test_a_class_of_one_row_is_noised(ones: int) -> None:
    exact, classes = two_classes(ones)
    g = exact.astype(np.float32)
    after = Marvell(1.0).changed(g, classes, np.random.default_rng(0).bytes)
    assert np.isfinite(after).all()
    assert (np.abs(after - g).max(1) > 0).all()
