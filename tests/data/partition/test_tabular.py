"""Columns split over parties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.helpers.features import deal, dealt, image, table
from vfl_flower.common.errors import DataError


def test_columns_are_dealt_in_reading_order() -> None:
    pixels = image(4, 1, 3, 3)
    shares = dealt("columns", pixels, 4)
    assert [share.shape for share in shares] == [(4, 3), (4, 2), (4, 2), (4, 2)]
    assert np.array_equal(np.concatenate(shares, 1), pixels.reshape(4, 9))


@given(st.integers(1, 12), st.integers(1, 12))
def test_every_party_gets_some_columns_or_the_deal_is_refused(width: int, parties: int) -> None:
    rows = table(3, width)
    if parties > width:
        with pytest.raises(DataError, match=f"{width} columns cannot be dealt to {parties}"):
            deal("columns", rows, parties)
        return
    widths = [share.shape[1] for share in dealt("columns", rows, parties)]
    assert sum(widths) == width
    assert max(widths) - min(widths) <= 1


@given(st.integers(1, 30), st.integers(1, 40), st.data())
def test_windows_overlap_evenly_and_leave_nothing_out(
    parties: int, pixels: int, data: st.DataObject
) -> None:
    size = data.draw(st.integers(-(-pixels // parties), pixels))
    shares = deal(f"overlapping:{size}", table(2, pixels), parties)
    starts = []
    for share in shares:
        assert isinstance(share, np.ndarray)
        assert share.tolist() == list(range(share[0], share[0] + size))
        starts.append(int(share[0]))
    assert {column for share in shares for column in share.tolist()} == set(range(pixels))  # type: ignore[union-attr]
    steps = np.diff(starts)
    assert not len(steps) or steps.max() - steps.min() <= 1


def test_a_window_has_all_channels_of_its_pixels() -> None:
    pixels = image(2, 3, 2, 2)
    shares = dealt("overlapping:3", pixels, 2)
    for share, start in zip(shares, (0, 1), strict=True):
        assert np.array_equal(
            share.reshape(2, 3, 3), pixels.reshape(2, 3, 4)[..., start : start + 3]
        )


@pytest.mark.parametrize("size", [2, 13])
def test_windows_that_leave_something_out_or_are_too_large_are_an_error(size: int) -> None:
    with pytest.raises(DataError, match="take a size from 3 to 12"):
        deal(f"overlapping:{size}", table(2, 12), 4)


def test_listed_columns_go_where_they_are_listed() -> None:
    rows = table(3, 9)
    shares = dealt("listed:0-2,8;4;5, 7 ,1-2", rows, 3)
    for share, expected in zip(shares, ([0, 1, 2, 8], [4], [5, 7, 1, 2]), strict=True):
        assert np.array_equal(share, rows[:, expected])


def test_lists_that_do_not_fit_are_an_error() -> None:
    with pytest.raises(DataError, match="columns of 2 parties, not 3"):
        deal("listed:0;1", table(3, 9), 3)
    with pytest.raises(DataError, match="list 2 names column 9; the last is 8"):
        deal("listed:0;9", table(3, 9), 2)


def widths_of(alpha: float) -> NDArray[np.float64]:
    """Return the standard deviation of the parties' widths, seed by seed."""
    rows = table(2, 60)
    shares = [deal(f"importance:{alpha}", rows, 4, seed) for seed in range(60)]
    return np.array([np.std([len(share) for share in each]) for each in shares])


def test_importance_deals_every_column_once_and_alpha_decides_how_evenly() -> None:
    shares = deal("importance:0.3", table(2, 60), 4, seed=5)
    columns = np.concatenate([share for share in shares if isinstance(share, np.ndarray)])
    assert sorted(columns.tolist()) == list(range(60))
    again = deal("importance:0.3", table(2, 60), 4, seed=5)
    assert repr(shares) == repr(again)
    assert widths_of(0.3).mean() > 2 * widths_of(100.0).mean()


def test_importance_that_leaves_a_party_without_columns_is_an_error() -> None:
    with pytest.raises(DataError, match="take a larger alpha"):
        deal("importance:0.00001", table(2, 60), 20)
