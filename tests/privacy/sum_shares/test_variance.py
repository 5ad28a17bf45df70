"""Variance over batches, its code of 16 bits, and shares."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vfl_flower.common.state import pack, unpack
from vfl_flower.privacy.sum_shares.variance import (
    OCTAVE,
    RunningVariance,
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


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(0, 100))
def test_batches_have_the_variance_of_all_rows(sizes: list[int], seed: int) -> None:
    """Far from zero, where sums of squares would cancel in float32."""
    rows = np.random.default_rng(seed).normal(1e3, 0.1, (sum(sizes), 3)).astype(np.float32)
    running = RunningVariance()
    for batch in torch.from_numpy(rows).split(sizes):
        running.load_state_dict(unpack(*pack(running.state_dict())))
        running.add(batch)
    assert running.count == len(rows)
    assert running.total == pytest.approx(rows.astype(np.float64).var(0).sum(), rel=1e-9, abs=1e-15)


def test_a_sum_of_constants_has_no_shares() -> None:
    assert RunningVariance().total == 0
    assert shares_of([0, 0, 0]) == [0, 0, 0]
    assert shares_of([0, 40_000, 40_000]) == [0, 0.5, 0.5]
