"""Splitting of rows, partition of columns, and scaling."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor

from tests.helpers.data import all_columns, columns_of, labels_of
from tests.helpers.datasets import add_dataset
from vfl_flower.common.errors import DataError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.datasets import DataSet
from vfl_flower.data.splitting.rows import rows_of

FEWER = settings(max_examples=50)
PARTS = ("train", "validation", "test")

Make = Callable[..., RunConfig]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Make:
    """Return a function that makes a data set and its configuration."""
    made = 0

    def build(features: NDArray[Any], test_rows: int = 0, **options: Any) -> RunConfig:
        nonlocal made
        made += 1  # loaded features are cached by folder
        rows = features.astype(np.float32)
        labels = np.arange(len(rows)) % 2
        data = DataSet(2, test_rows, lambda *_: rows, lambda *_: labels)
        add_dataset(monkeypatch, "made", data, images=True)
        given = {"dataset": "made", "data-dir": str(tmp_path / str(made)), "batch-size": 1}
        return RunConfig.from_mapping({**given, "models": "mlp", "partition": "columns", **options})

    return build


def table(rows: int, width: int) -> NDArray[Any]:
    return np.random.default_rng(0).normal(3, 5, (rows, width)).astype(np.float32)


def image(rows: int, *shape: int) -> NDArray[Any]:
    return np.random.default_rng(0).normal(3, 5, (rows, *shape)).astype(np.float32)


def bits(tensor: Tensor) -> bytes:
    return tensor.numpy().tobytes()


# Rows ---------------------------------------------------------------------------------------------


@FEWER
@given(st.integers(0, 2**40), st.integers(100, 400), st.floats(0.05, 0.9))
def test_rows_are_disjoint_and_complete(seed: int, total: int, validation: float) -> None:
    rows = rows_of(RunConfig(seed=seed, validation=validation, batch_size=1), total)
    assert tuple(rows) == PARTS
    assert {part.dtype for part in rows.values()} == {np.dtype(np.int32)}
    assert sorted(np.concatenate(list(rows.values())).tolist()) == list(range(total))


def test_shares_of_digits() -> None:
    rows = rows_of(RunConfig(validation=0.25), 1000)
    assert [len(rows[part]) for part in PARTS] == [600, 200, 200]


def test_rows_are_a_pure_function_of_the_seed() -> None:
    """Other options, and whatever was drawn before, change nothing."""
    rows = rows_of(RunConfig(seed=5), 500)
    np.random.seed(1)
    torch.manual_seed(1)
    again = rows_of(RunConfig(seed=5, epochs=3, models="mlp", parties=3), 500)
    other = rows_of(RunConfig(seed=6), 500)
    for part in PARTS:
        assert rows[part].tolist() == again[part].tolist()
        assert rows[part].tolist() != other[part].tolist()


def test_a_published_test_part_is_the_last_rows_for_every_seed(make: Make) -> None:
    cfg = make(table(60, 4), test_rows=13)
    for seed in range(3):
        rows = rows_of(replace(cfg, seed=seed), 60)
        assert rows["test"].tolist() == list(range(47, 60))
        assert sorted([*rows["train"], *rows["validation"]]) == list(range(47))
        assert len(rows["validation"]) == 5  # a tenth of what is left


def test_a_part_without_rows_is_an_error() -> None:
    with pytest.raises(DataError, match="validation"):
        rows_of(RunConfig(validation=0.001, batch_size=1), 100)
    with pytest.raises(DataError, match="train"):
        rows_of(RunConfig(validation=0.999, batch_size=1), 100)


def test_a_batch_larger_than_the_training_rows_is_an_error() -> None:
    assert len(rows_of(RunConfig(batch_size=72), 100)["train"]) == 72
    with pytest.raises(
        DataError,
        match="batch-size 73 is more than the 72 training rows; use batch-size = 72 or less",
    ):
        rows_of(RunConfig(batch_size=73), 100)


# Columns ------------------------------------------------------------------------------------------


def test_each_party_holds_its_own_share(make: Make) -> None:
    """Concatenated shares are all columns; the first is the active party's."""
    cfg = make(table(60, 10), parties=4)
    shares = [columns_of(cfg, rank) for rank in range(4)]
    assert [tuple(share.shape) for share in shares] == [(60, 3), (60, 3), (60, 2), (60, 2)]
    assert bits(torch.cat(shares, 1)) == bits(all_columns(cfg))
    assert labels_of(cfg).tolist() == [0, 1] * 30
    assert labels_of(cfg).dtype == torch.int64


# Scaling ------------------------------------------------------------------------------------------


def test_a_table_is_standardised_by_column_on_the_training_rows(make: Make) -> None:
    cfg = make(table(90, 8))
    train = torch.from_numpy(rows_of(cfg, 90)["train"]).long()
    scaled = torch.cat([columns_of(cfg, rank) for rank in range(4)], 1)
    sample = scaled[train].double()
    assert scaled.dtype == torch.float32
    assert sample.mean(0).abs().max().item() < 1e-6
    assert (sample.std(0, correction=0) - 1).abs().max().item() < 1e-6
    assert scaled.double().mean(0).abs().max().item() > 1e-3  # all rows together are not


def test_an_image_is_standardised_by_channel(make: Make) -> None:
    """Pixels of one channel share a scale."""
    cfg = make(image(90, 2, 4, 4) * np.array([1, 9]).reshape(2, 1, 1), partition="strips")
    x = columns_of(cfg, 1)
    sample = x[torch.from_numpy(rows_of(cfg, 90)["train"]).long()].double()
    assert sample.mean((0, 2, 3)).abs().max().item() < 1e-6
    assert (sample.std((0, 2, 3), correction=0) - 1).abs().max().item() < 1e-6
    assert sample.mean(0).abs().max().item() > 1e-3


@pytest.mark.parametrize("partition", ["columns", "strips"])
def test_scaling_knows_the_training_rows_only(make: Make, partition: str) -> None:
    """Values in other rows change nothing in the training rows."""
    pixels = image(90, 1, 4, 4)
    cfg = make(pixels, partition=partition)
    rows = rows_of(cfg, 90)
    train = torch.from_numpy(rows["train"]).long()
    before = [columns_of(cfg, rank) for rank in range(4)]
    changed = pixels.copy()
    changed[[*rows["test"], *rows["validation"]]] *= -1000
    other = make(changed, partition=partition)
    for rank, earlier in enumerate(before):
        later = columns_of(other, rank)
        assert bits(later[train]) == bits(earlier[train])
        assert bits(later) != bits(earlier)
    assert bits(all_columns(other)[train]) == bits(all_columns(cfg)[train])


@pytest.mark.parametrize("constant", [0.0, 0.1, -7.3, 1e30])
def test_constant_columns_are_centred_only(make: Make, constant: float) -> None:
    """A column that is constant in training rows is not blown up."""
    rows = table(90, 4)
    rows[:, 2] = constant
    cfg = make(rows)
    assert torch.equal(columns_of(cfg, 2), torch.zeros(90, 1))

    test = rows_of(cfg, 90)["test"]
    rows[:, 2], rows[test, 2] = 2.0, 5.0
    assert columns_of(make(rows), 2)[torch.from_numpy(test).long()].unique().tolist() == [3.0]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_a_bad_column_is_named_with_its_party(make: Make, bad: float) -> None:
    rows = table(90, 12)
    rows[4, 7] = rows[5, 7] = rows[6, 8] = bad  # party-2 holds columns 6 to 8
    cfg = make(rows)
    with pytest.raises(DataError, match=r"^party-2: column 1 holds NaN or infinity.* 1 other"):
        columns_of(cfg, 2)
    for rank in (0, 1, 3):
        assert columns_of(cfg, rank).isfinite().all()


def test_a_bad_pixel_is_named_with_its_party(make: Make) -> None:
    pixels = image(90, 2, 4, 8)
    pixels[4, 1, 3, 0] = np.nan
    cfg = make(pixels, partition="strips")
    with pytest.raises(DataError, match=r"^active: pixel \(channel, row, column\) = \(1, 3, 0\)"):
        columns_of(cfg, 0)
    assert columns_of(cfg, 1).isfinite().all()
