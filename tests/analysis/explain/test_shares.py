"""Shares of parties, told and drawn."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from vfl_flower.analysis.explain.figures import importance_of_pixels
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.held_columns import told
from vfl_flower.data.loading import load_parties


@pytest.mark.parametrize(
    ("share", "images", "says"),
    [
        ((slice(None), slice(2, 4), slice(None)), True, "rows 2-3"),
        ((slice(None), slice(None), slice(7, 8)), True, "columns 7"),
        ((slice(None), slice(0, 4), slice(4, 8)), True, "rows 0-3, columns 4-7"),
        ((slice(None), slice(None), slice(None)), True, "all"),
        (np.array([7, 0, 1, 2]), False, "columns 0-2, 7"),
        (np.arange(14), True, "pixels 0-13"),
        (np.arange(0, 14, 2), False, "7 columns"),
    ],
)
def test_what_a_party_holds_is_told(share: Any, images: bool, says: str) -> None:
    assert told(share, images) == says


def test_a_pixel_is_as_important_as_the_party_that_holds_it() -> None:
    strips = importance_of_pixels(load_parties(RunConfig(partition="strips")), [1, 2, 3, 4])
    assert np.array_equal(strips, np.repeat([[1.0, 2, 3, 4]], 8, 0).repeat(2, 1))
    tiles = importance_of_pixels(load_parties(RunConfig(partition="grid:2x2")), [1, 2, 3, 4])
    assert np.array_equal(tiles, np.kron([[1, 2], [3, 4]], np.ones((4, 4))))


def test_a_pixel_of_several_is_as_important_as_their_mean_and_one_of_nobody_is_blank() -> None:
    cfg = RunConfig(method="splitnn", parties=2, partition="overlapping:40")
    values = importance_of_pixels(load_parties(cfg), [1, 4]).ravel()
    assert np.array_equal(values, [1.0] * 24 + [2.5] * 16 + [4.0] * 24)
    some = importance_of_pixels(load_parties(replace(cfg, partition="strips@0,3/4")), [1, 4])
    assert np.isnan(some).sum() == np.isnan(some[:, 2:6]).sum() == 32
