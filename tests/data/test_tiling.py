"""Tiles and views: joined tiles make the whole image."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.methods.test_joint_conv import TINY
from vfl_flower.algorithms.augmentation import Looks, augmented, view
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.partition.shares import take
from vfl_flower.data.published_data import PublishedData
from vfl_flower.data.tiling import Tiling

CFG = RunConfig(**TINY, baselines="off")


@settings(max_examples=40, deadline=None)
@given(
    grid=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    flips=st.lists(st.booleans(), min_size=1, max_size=6),
    order=st.randoms(),
)
def test_tiles_of_a_flipped_image_make_the_flipped_image(
    grid: tuple[int, int], flips: list[bool], order: Any
) -> None:
    """Whoever holds which tile."""
    rows, columns = grid
    images = torch.randn(len(flips), 2, 4 * rows, 6 * columns)
    mirrored = torch.tensor(flips)
    looks = Looks(mirrored, torch.zeros(len(flips), 2, dtype=torch.int64))
    numbers = list(range(rows * columns))
    order.shuffle(numbers)
    tiling = Tiling(grid, tuple(divmod(n, columns) for n in numbers))
    tiles = [images[:, :, 4 * r : 4 * (r + 1), 6 * c : 6 * (c + 1)] for r, c in tiling.places]
    joined = tiling.join([looks.seen(tile) for tile in tiles], mirrored)
    assert joined.equal(looks.seen(images))
    assert joined[mirrored].equal(images[mirrored].flip(3))
    assert joined[~mirrored].equal(images[~mirrored])


def test_a_tile_is_shifted_within_itself() -> None:
    x = torch.arange(16.0).reshape(1, 1, 4, 4)
    looks = Looks(torch.tensor([False]), torch.tensor([[1, -2]]))
    expected = [[2, 3, 3, 3], [2, 3, 3, 3], [6, 7, 7, 7], [10, 11, 11, 11]]
    assert looks.seen(x)[0, 0].tolist() == expected


def test_all_parties_look_alike_at_a_row_and_differently_at_views() -> None:
    cfg = CFG.changed(views=3, seed=5)
    one, other, again = (view(cfg, number, 1000, (16, 16)) for number in (1, 2, 1))
    assert one.flips.equal(again.flips)
    assert one.shifts.equal(again.shifts)
    assert not one.shifts.equal(other.shifts)
    assert 0.4 < one.flips.float().mean() < 0.6
    assert one.shifts.abs().max() == 2
    assert not view(cfg, 0, 1000, (16, 16)).flips.any()


@pytest.mark.parametrize(
    ("augment", "flips", "shifts"), [("flip", True, False), ("crop", False, True)]
)
def test_augmentation_can_be_one_of_two(augment: str, flips: bool, shifts: bool) -> None:
    looks = view(CFG.changed(views=2, augment=augment), 1, 1000, (16, 16))
    assert bool(looks.flips.any()) == flips
    assert bool(looks.shifts.any()) == shifts


def test_one_view_leaves_images_as_they_are() -> None:
    x, rows = torch.randn(3, 1, 4, 4), torch.tensor([5, 1, 8])
    assert augmented(CFG, 0, 10, rows, x) is x
    assert not augmented(CFG.changed(views=2), 0, 10, rows, x).equal(x)


def test_parties_in_another_order_hold_other_tiles_and_the_image_is_whole() -> None:
    cfg = replace(CFG, partition="grid:2x2@3,0,2,1/4")
    data = PublishedData(cfg)
    raw = data.stored
    tiles = [torch.from_numpy(take(raw, share)).float() for share in data.shares]
    assert (
        Tiling.of(cfg, raw.shape[1:])
        .join(tiles, torch.zeros(len(raw), dtype=torch.bool))
        .equal(torch.from_numpy(np.asarray(raw)).float())
    )
