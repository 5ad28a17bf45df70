"""Subsets of parties: their sizes and who is in them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vfl_flower.privacy.missing_parties.drawn_subsets import drawn_sizes, drawn_subsets

SECRET = bytes(range(32))


@given(st.integers(0, 2**40), st.integers(0, 10**6), st.integers(0, 4), st.integers(1, 9))
def test_sizes_are_from_the_least_to_all(seed: int, step: int, least: int, parties: int) -> None:
    counts = np.arange(min(least, parties), parties + 1)
    sizes = drawn_sizes(seed, step, counts, least)
    assert (sizes <= counts).all()
    assert (sizes >= np.minimum(least, counts)).all()


@given(st.binary(min_size=32, max_size=32), st.integers(0, 10**6), st.integers(1, 40), st.data())
def test_subsets_are_of_those_present(
    secret: bytes, step: int, rows: int, data: st.DataObject
) -> None:
    present = np.array(data.draw(st.lists(st.lists(st.booleans(), min_size=4, max_size=4),
                                          min_size=rows, max_size=rows)), bool)  # fmt: skip
    sizes = drawn_sizes(1, step, present.sum(1), 2)
    drawn = drawn_subsets(secret, step, present, sizes)
    assert not (drawn & ~present).any()
    assert (drawn.sum(1) == sizes).all()
    assert np.array_equal(drawn, drawn_subsets(secret, step, present, sizes))


def test_sizes_and_subsets_are_uniform() -> None:
    present = np.ones((60_000, 4), bool)
    sizes = drawn_sizes(0, 3, present.sum(1), 2)
    shares = np.bincount(sizes)[2:] / len(sizes)
    assert np.abs(shares - 1 / 3).max() < 0.01
    drawn = drawn_subsets(SECRET, 3, present, sizes)
    pairs = drawn[sizes == 2] @ (1 << np.arange(4))
    counts = np.bincount(pairs)
    counts = counts[counts > 0]
    assert len(counts) == 6
    assert np.abs(counts / counts.sum() - 1 / 6).max() < 0.01


def test_another_secret_or_step_draws_others() -> None:
    present = np.ones((100, 4), bool)
    sizes = np.full(100, 2)
    drawn = drawn_subsets(SECRET, 0, present, sizes)
    assert not np.array_equal(drawn, drawn_subsets(SECRET, 1, present, sizes))
    assert not np.array_equal(drawn, drawn_subsets(bytes(32), 0, present, sizes))
