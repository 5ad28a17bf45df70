"""The discrete Gaussian mechanism and its clip."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.stats import kstest
from torch import Tensor

from vfl_flower.privacy.client_dp.gaussian import FINENESS, Gaussian

SIGMAS = st.floats(0.1, 1000)
CLIPS = st.floats(1e-6, 1e6)


def matrices() -> st.SearchStrategy[Tensor]:
    """Return uploads of all sizes of numbers, zeros among them."""
    numbers = st.floats(allow_nan=False, allow_infinity=False, width=32)
    return arrays(np.float32, array_shapes(min_dims=2, max_dims=2), elements=numbers).map(
        torch.from_numpy
    )


@given(SIGMAS, CLIPS)
def test_the_noise_is_never_less_than_asked_for(sigma: float, clip: float) -> None:
    mechanism = Gaussian(sigma, clip)
    assert math.frexp(mechanism.step)[0] == 0.5  # a power of two
    noise = Fraction(mechanism.deviation) * Fraction(mechanism.step)
    wanted = Fraction(sigma) * Fraction(clip)
    assert wanted <= noise <= wanted * (1 + Fraction(1, 1 << FINENESS))
    assert 1 << FINENESS <= mechanism.deviation <= 2 << FINENESS


@given(matrices(), SIGMAS, CLIPS)
def test_no_upload_is_longer_than_the_clip(x: Tensor, sigma: float, clip: float) -> None:
    mechanism = Gaussian(sigma, clip)
    squares = sum(int(steps) ** 2 for steps in mechanism.clipped(x).ravel())
    assert squares * Fraction(mechanism.step) ** 2 <= Fraction(clip) ** 2


@given(matrices(), SIGMAS, CLIPS)
def test_clipping_only_shortens(x: Tensor, sigma: float, clip: float) -> None:
    """Towards zero, by less than a step and rounding, without turning."""
    mechanism = Gaussian(sigma, clip)
    kept = torch.from_numpy(mechanism.clipped(x)).double() * mechanism.step
    meant = x.double() * min(1.0, clip / (x.double().norm().item() or 1.0))
    lost = meant.abs() - kept.abs()
    assert (kept * meant >= 0).all()
    assert (lost >= -1e-9 * meant.abs()).all()
    assert (lost <= mechanism.step + 1e-9 * meant.abs()).all()


def test_nothing_becomes_noise_alone() -> None:
    assert not Gaussian(2.0, 1.0).clipped(torch.zeros(3, 4)).any()
    assert Gaussian(2.0, 1.0).clipped(torch.empty(0, 4)).shape == (0, 4)


def test_a_norm_that_is_too_small_is_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounding could understate it; whole numbers have the last word."""
    true = Tensor.norm
    monkeypatch.setattr(Tensor, "norm", lambda x, **how: true(x, **how) * (1 - 1e-5))
    steps = Gaussian(1.0, 1.0).clipped(torch.tensor([[1e6, 0.0]]))
    assert (1 << FINENESS) - 10 < steps[0, 0] <= 1 << FINENESS


@pytest.mark.parametrize(("sigma", "clip"), [(2.0, 1.0), (0.1, 5.0), (70.0, 0.0005)])
def test_what_is_added_is_gaussian(sigma: float, clip: float) -> None:
    mechanism = Gaussian(sigma, clip)
    x = torch.linspace(-1, 1, 20_000).reshape(200, 100)
    noised = mechanism.release(x, random.Random(0).randbytes)  # noqa: S311
    assert (noised.dtype, noised.shape) == (torch.float32, x.shape)
    steps = noised.double().numpy() / mechanism.step
    assert (steps == np.rint(steps)).all()  # on the grid
    noise = (steps - mechanism.clipped(x)) / mechanism.deviation
    assert kstest(noise.ravel(), "norm").pvalue > 0.001
    assert noise.std() == pytest.approx(1, rel=0.02)


def test_every_upload_is_noised_anew() -> None:
    mechanism, x = Gaussian(2.0, 1.0), torch.ones(4, 4)
    assert not torch.equal(mechanism.release(x), mechanism.release(x))
