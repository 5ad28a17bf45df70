"""Isotropic noise, levels and sparsity do as they are defined."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vfl_flower.common.errors import ConfigError
from vfl_flower.common.names import load_object
from vfl_flower.config.options.defences.gradients import GRADIENT_DEFENCES, read_defence
from vfl_flower.privacy.gradient_defences.defence import Gradient, GradientDefence

ARGUMENTS = {"isotropic": "0.5", "marvell": "2", "discretized": "7", "top-k": "0.3"}
numbers = st.floats(-(2.0**20), 2.0**20, width=32)
gradients = arrays(np.float32, st.tuples(st.integers(1, 9), st.integers(2, 6)), elements=numbers)


def made(text: str) -> GradientDefence:
    spec, argument = read_defence(text)
    defence: GradientDefence = load_object(spec.build)(argument)
    return defence


def changed(text: str, g: Gradient, seed: int = 0) -> Gradient:
    classes = np.arange(len(g)) % 2
    return made(text).changed(g, classes, np.random.default_rng(seed).bytes)


def batch(rows: int = 40, width: int = 8) -> Gradient:
    return np.random.default_rng(1).normal(size=(rows, width)).astype(np.float32)


def test_every_defence_is_tried_below() -> None:
    assert set(ARGUMENTS) == set(GRADIENT_DEFENCES)


@pytest.mark.parametrize("name", ARGUMENTS)
@given(g=gradients)
def test_shape_and_bound(name: str, g: Gradient) -> None:
    text = f"{name}:{ARGUMENTS[name]}"
    after = changed(text, g)
    assert after.dtype.name == "float32"
    assert after.shape == g.shape
    limit = made(text).growth(*g.shape) * np.abs(g).max()
    assert np.abs(after).max() <= limit * (1 + 1e-6)


@pytest.mark.parametrize("name", ["isotropic", "marvell"])
def test_noise_is_unbiased(name: str) -> None:
    g = batch(10, 4)
    drawn = np.stack([changed(f"{name}:1", g, seed) - g for seed in range(500)])
    error = drawn.std(0) / math.sqrt(len(drawn))
    assert (np.abs(drawn.mean(0)) < 5 * error).all()


@pytest.mark.parametrize("scale", [0.25, 4.0])
def test_isotropic_noise_has_its_deviation_in_every_number(scale: float) -> None:
    g = batch(10, 4)
    drawn = np.stack([changed(f"isotropic:{scale}", g, seed) - g for seed in range(2000)])
    expected = scale * np.linalg.norm(g, axis=1).max() / 2  # sqrt(4)
    assert drawn.std(0) == pytest.approx(expected, rel=0.1)
    assert np.square(drawn).sum(2).mean() == pytest.approx(4 * expected**2, rel=0.03)


@pytest.mark.parametrize("name", ["isotropic", "marvell"])
def test_noise_is_that_of_its_entropy(name: str) -> None:
    g = batch()
    assert np.array_equal(changed(f"{name}:1", g, 3), changed(f"{name}:1", g, 3))
    assert not np.array_equal(changed(f"{name}:1", g, 3), changed(f"{name}:1", g, 4))


@given(g=gradients, levels=st.integers(2, 40))
def test_numbers_become_the_nearest_of_so_many_levels(g: Gradient, levels: int) -> None:
    after = changed(f"discretized:{levels}", g).astype(np.float64)
    exact = g.astype(np.float64)
    mean, deviation = exact.mean(), exact.std()
    grid = np.linspace(mean - 2 * deviation, mean + 2 * deviation, levels)
    nearest = np.abs(exact[..., None] - grid).min(-1)
    rounding = 1e-5 * np.abs(g).max()
    assert (np.abs(after[..., None] - grid).min(-1) <= rounding).all()
    assert (np.abs(after - exact) <= nearest + rounding).all()
    assert len(np.unique(after)) <= levels


@given(g=gradients, share=st.floats(0.01, 0.99))
def test_the_largest_share_is_kept_and_the_rest_is_zero(g: Gradient, share: float) -> None:
    after = changed(f"top-k:{share}", g)
    count = math.ceil(share * g.size)
    kept = after != 0
    assert np.array_equal(after[kept], g[kept])
    assert kept.sum() == min(count, (g != 0).sum())
    if 0 < kept.sum() < g.size:
        assert np.abs(g[kept]).min() >= np.abs(g[~kept]).max()


@pytest.mark.parametrize("text", ["gauss:1", "isotropic", "isotropic:inf", "discretized:1e2"])
def test_forms_are_told(text: str) -> None:
    with pytest.raises(ConfigError, match=r"isotropic:SCALE.*discretized:LEVELS.*top-k:SHARE"):
        read_defence(text)
