"""Typical variance of uploads, its code of 16 bits, and shares."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vfl_flower.common.state import pack, unpack
from vfl_flower.privacy.sum_shares.variance import (
    OCTAVE,
    TypicalVariance,
    code_of,
    shares_of,
    variance_of,
)


@given(st.floats(2.0**-511, 2.0**511))
def test_a_code_is_within_half_a_step(variance: float) -> None:
    code = code_of(variance)
    assert 0 < code < 2**16
    assert abs(np.log2(variance_of(code) / variance)) <= 0.5 / OCTAVE + 1e-9


@given(st.integers(0, 2**16 - 1))
def test_a_code_stands_for_a_variance_with_that_code(code: int) -> None:
    assert code_of(variance_of(code)) == code


@pytest.mark.parametrize(
    ("variance", "code"), [(0.0, 0), (1e-300, 0), (1.0, 2**15), (1e300, 2**16 - 1)]
)
def test_variances_that_no_code_has_stand_at_the_ends(variance: float, code: int) -> None:
    assert code_of(variance) == code


@given(st.lists(st.integers(2, 40), min_size=1, max_size=6), st.integers(0, 100))
def test_the_mean_is_that_of_each_uploads_own_variance(sizes: list[int], seed: int) -> None:
    """Far from zero, where sums of squares would cancel in float32."""
    rows = np.random.default_rng(seed).normal(1e3, 0.1, (sum(sizes), 3)).astype(np.float32)
    typical, batches = TypicalVariance(), torch.from_numpy(rows).split(sizes)
    for batch in batches:
        typical.load_state_dict(unpack(*pack(typical.state_dict())))
        typical.add(batch)
    variances = [batch.numpy().astype(np.float64).var(0).sum() for batch in batches]
    assert typical.count == len(sizes)
    assert typical.value == pytest.approx(np.exp(np.log(variances).mean()), rel=1e-9)


def typical_of(*uploads: torch.Tensor) -> float:
    typical = TypicalVariance()
    for each in uploads:
        typical.add(each)
    return typical.value


def test_uploads_that_move_and_do_not_vary_have_no_variance() -> None:
    """They hide nothing in the sum of one step."""
    still = [torch.full((20, 4), 1000.0 * step) for step in range(10)]
    random = torch.Generator().manual_seed(0)
    live = [torch.randn(20, 4, generator=random) for _ in range(10)]
    codes = [code_of(typical_of(*each)) for each in (still, live)]
    assert shares_of(codes) == pytest.approx([0, 1], abs=1e-6)


def test_a_wild_upload_is_one_of_many() -> None:
    random = torch.Generator().manual_seed(0)
    quiet = [torch.randn(20, 4, generator=random) for _ in range(11)]
    wild = [*quiet[:10], 30 * quiet[10]]
    share = shares_of([code_of(typical_of(*each)) for each in (quiet, wild)])[1]
    assert 0.6 < share < 0.7  # of all rows together it would be 0.99


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_is_no_number_is_large(number: float) -> None:
    assert code_of(number) == 2**16 - 1
    assert typical_of(torch.full((3, 2), number)) == 2.0**512


def test_a_sum_of_constants_has_no_shares() -> None:
    assert TypicalVariance().value == 0
    assert shares_of([0, 0, 0]) == [0, 0, 0]
    assert shares_of([0, 40_000, 40_000]) == [0, 0.5, 0.5]
