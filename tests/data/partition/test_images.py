"""Strips and tiles of images."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.features import deal, dealt, image, table
from vfl_flower.common.errors import DataError


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("strips", [(2, 5, 3), (2, 5, 3), (2, 5, 2)]),
        ("strips:columns", [(2, 5, 3), (2, 5, 3), (2, 5, 2)]),
        ("strips:rows", [(2, 2, 8), (2, 2, 8), (2, 1, 8)]),
    ],
)
def test_strips_are_as_even_as_possible_and_leave_nothing_out(
    text: str, shapes: list[tuple[int, ...]]
) -> None:
    pixels = image(4, 2, 5, 8)
    shares = dealt(text, pixels, 3)
    assert [share.shape[1:] for share in shares] == shapes
    assert np.array_equal(np.concatenate(shares, 2 if text == "strips:rows" else 3), pixels)


@pytest.mark.parametrize(("axis", "pixels"), [("columns", 8), ("rows", 5)])
def test_too_many_parties_for_the_strips_is_an_error(axis: str, pixels: int) -> None:
    assert len(deal(f"strips:{axis}", image(2, 1, 5, 8), pixels)) == pixels
    with pytest.raises(DataError, match=f"{pixels} pixel {axis} cannot be dealt to {pixels + 1}"):
        deal(f"strips:{axis}", image(2, 1, 5, 8), pixels + 1)


@pytest.mark.parametrize("text", ["strips", "grid:2x2"])
def test_a_table_is_no_image(text: str) -> None:
    with pytest.raises(DataError, match="use columns"):
        deal(text, table(3, 8), 4)


def test_uneven_tiles_leave_the_rest_to_the_last() -> None:
    """As the papers cut 32 pixels in three: 10, 10 and 12."""
    shares = dealt("grid:3x3", image(2, 3, 32, 32), 9)
    sides = (10, 10, 12)
    assert [share.shape[2:] for share in shares] == [(r, c) for r in sides for c in sides]


@given(st.integers(1, 5), st.integers(1, 5), st.integers(5, 12), st.integers(5, 12))
def test_tiles_put_together_are_the_image(rows: int, cols: int, height: int, width: int) -> None:
    pixels = image(2, 1, height, width)
    shares = dealt(f"grid:{rows}x{cols}", pixels, rows * cols)
    lines = [np.concatenate(shares[r * cols : (r + 1) * cols], 3) for r in range(rows)]
    assert np.array_equal(np.concatenate(lines, 2), pixels)
    assert all(share.size for share in shares)


def test_tiles_that_do_not_fit_are_an_error() -> None:
    with pytest.raises(DataError, match="grid:2x3 has 6 tiles, and there are 4 parties"):
        deal("grid:2x3", image(2, 1, 8, 8), 4)
    with pytest.raises(DataError, match="8 pixels cannot be cut into 9"):
        deal("grid:1x9", image(2, 1, 8, 8), 9)
