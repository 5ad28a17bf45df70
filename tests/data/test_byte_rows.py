"""Images that are kept as bytes: the numbers that standardised tensors had."""

import numpy as np
import pytest
import torch

from vfl_flower.data.byte_rows import ByteRows, scale_of, unit
from vfl_flower.data.columns import Features, Pixels
from vfl_flower.data.preprocessing.scaling import mean_and_deviation, scaled_by

PIXELS = np.random.default_rng(0).integers(0, 256, (500, 3, 6, 8), np.uint8)
TRAIN = np.arange(0, 500, 2)


def fitted(pixels: Pixels) -> ByteRows:
    return ByteRows.scaled(pixels, *scale_of(pixels, TRAIN))


def test_its_numbers_are_those_of_the_scaled_tensor() -> None:
    part = PIXELS[:, :, 1:4, 2:]
    rows = fitted(part)
    expected = scaled_by(unit(part), *mean_and_deviation(unit(part), TRAIN))
    assert torch.equal(rows[:], expected)
    index = torch.tensor([3, 499, 3, 0])
    assert torch.equal(rows.index_select(0, index), expected.index_select(0, index))
    assert torch.equal(rows[index.numpy()], expected[index])
    assert torch.equal(rows[5:8], expected[5:8]) and torch.equal(rows[5], expected[5])
    assert rows.shape == expected.shape and rows.ndim == 4 and len(rows) == 500


@pytest.mark.parametrize("of", [slice(None), slice(1, 3)])
def test_a_part_is_scaled_as_the_whole_image_is(of: slice) -> None:
    known = [np.broadcast_to(each, (1, 3, 6, 8)).copy() for each in scale_of(PIXELS, TRAIN)]
    rows = ByteRows.scaled(PIXELS[:, :, of], *(each[:, :, of] for each in known))
    assert torch.equal(rows[:], fitted(PIXELS)[:][:, :, of])


def test_a_channel_that_does_not_vary_is_centred_only() -> None:
    pixels = PIXELS.copy()
    pixels[:, 1] = 7
    rows = fitted(pixels)
    assert (rows[:][:, 1] == 0).all() and rows[:].isfinite().all()


def test_rows_that_are_no_training_rows_do_not_count() -> None:
    pixels = PIXELS.copy()
    pixels[1::2] = 0
    ours, theirs = fitted(pixels), fitted(PIXELS)
    assert torch.equal(ours.mean, theirs.mean) and torch.equal(ours.deviation, theirs.deviation)


def test_a_share_is_a_view_of_all_columns() -> None:
    rows = fitted(PIXELS[:, :, :, :4])
    assert np.shares_memory(rows.pixels.numpy(), PIXELS)


@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
def test_bytes_are_scaled_and_numbers_kept(dtype: type) -> None:
    values: Features = np.array([0, 51, 255]).astype(dtype)
    expected = [0, 0.2, 1] if dtype is np.uint8 else [0, 51, 255]
    assert unit(values).tolist() == pytest.approx(expected)
