"""Shares of all parties together, and some of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.data import all_columns, columns_of
from tests.helpers.features import dealt, image
from vfl_flower.config.run_config import RunConfig


@pytest.mark.parametrize(
    "partition",
    ["strips:rows", "grid:2x2", "columns", "overlapping:20", "importance:1", "correlation:0.5"],
)
def test_parties_hold_their_shares_and_the_central_bound_holds_all(partition: str) -> None:
    cfg = RunConfig(partition=partition, models="mlp")
    held = sum(columns_of(cfg, rank)[0].numel() for rank in range(4))
    assert held == (80 if partition == "overlapping:20" else 64)
    assert all_columns(cfg)[0].numel() == 64


@pytest.mark.parametrize("partition", ["strips", "grid:2x2", "columns", "importance:1"])
def test_no_partys_memory_holds_anothers_columns(partition: str) -> None:
    """Its tensor is its own memory, and not a window into everybody's."""
    cfg = RunConfig(partition=partition, models="mlp")
    for rank in range(4):
        own = columns_of(cfg, rank)
        assert own.untyped_storage().nbytes() == own.numel() * 4


def test_the_central_bound_holds_no_column_that_nobody_has() -> None:
    cfg = RunConfig(dataset="wine", partition="listed:0-2;2-4;5;7")
    assert all_columns(cfg).shape == (178, 7)


@pytest.mark.parametrize(
    "made",
    ["strips:rows", "grid:2x3", "columns", "overlapping:13", "importance:1", "correlation:1"],
)
@settings(max_examples=5)
@given(data=st.data())
def test_shares_that_are_kept_are_those_of_all_parties(made: str, data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, 5), min_size=1, unique=True))
    pixels, listed = image(9, 1, 6, 8), ",".join(map(str, numbers))
    every = dealt(made, pixels, 6, seed=3)
    kept = dealt(f"{made}@{listed}/6", pixels, len(numbers), seed=3)
    assert len(kept) == len(numbers)
    assert all(np.array_equal(a, every[n]) for a, n in zip(kept, numbers, strict=True))


def test_a_run_of_kept_shares_has_the_columns_of_the_parties_that_held_them() -> None:
    every, some = RunConfig(parties=4), RunConfig(parties=3, partition="auto@0,2-3/4")
    for rank, earlier in enumerate((0, 2, 3)):
        assert columns_of(some, rank).equal(columns_of(every, earlier))


@pytest.mark.parametrize("made", ["strips", "grid:2x2"])
def test_pixels_that_nobody_holds_are_blank_in_the_central_bound(made: str) -> None:
    some = all_columns(RunConfig(parties=3, partition=f"{made}@0,2,3/4"))
    every = all_columns(RunConfig(partition=made))
    assert every.shape == some.shape == (1797, 1, 8, 8)
    away = np.zeros((8, 8), bool)
    away[:, 2:4] = made == "strips"
    away[:4, 4:] |= made == "grid:2x2"
    assert away.sum() == 16
    assert some[:, 0, ~away].equal(every[:, 0, ~away])
    assert every[:, 0, away].any()
    assert not some[:, 0, away].any()
