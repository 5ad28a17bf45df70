"""Arrays of aligned rows from Python."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

import vfl_flower as vfl
from tests.interface.test_train import QUICK, weights
from vfl_flower.common.errors import ConfigError, DataError
from vfl_flower.data.tables.description import read_description
from vfl_flower.data.tables.reader import OwnTable, read_table

X = np.random.default_rng(0).normal(size=(100, 4))
CLASSES = (X.sum(1) > 0).astype(int)


def parties(y: Any, x: Any = X) -> list[vfl.Arrays]:
    """Split columns over two parties."""
    return [vfl.Arrays(x[:, :2], y), vfl.Arrays(x[:, 2:])]


def read_of(arrays: vfl.Arrays, folder: Path) -> OwnTable:
    """Read them as a run does."""
    (folder / "table").mkdir()
    arrays.table().write(folder)
    return read_table(read_description(folder / "table" / "table.toml"), "active")


def test_arrays_and_tensors_are_trained_alike_and_predicted_in_order() -> None:
    run = vfl.train(parties(CLASSES), **QUICK | {"epochs": 6, "learning_rates": 0.01})
    tensors = vfl.train(
        parties(torch.tensor(CLASSES), torch.tensor(X)),
        **QUICK | {"epochs": 6, "learning_rates": 0.01},
    )
    assert weights(run) == weights(tensors)
    said = run.predict([vfl.Arrays(X[:30, :2]), vfl.Arrays(X[:30, 2:])])
    assert list(said["id"]) == list(range(30))
    assert (said["prediction"] == CLASSES[:30]).mean() > 0.8


@pytest.mark.parametrize(
    ("y", "task", "classes"),
    [
        (np.where(CLASSES, "yes", "no"), "binary", ["no", "yes"]),
        (CLASSES.astype(bool), "binary", ["false", "true"]),
        (np.arange(100) % 3, "multi-class", ["0", "1", "2"]),
        (CLASSES.astype(float), "binary", ["0", "1"]),
        (np.arange(100) % 30, "regression", []),
        (X.sum(1), "regression", []),
    ],
)
def test_labels_are_read_as_those_of_tables(
    y: Any, task: str, classes: list[str], tmp_path: Path
) -> None:
    read = read_of(vfl.Arrays(X, y), tmp_path)
    assert read.label and (read.task, [*(read.label.values or ())]) == (task, classes)


def test_the_task_can_be_said(tmp_path: Path) -> None:
    assert read_of(vfl.Arrays(X, np.arange(100) % 30, task="multi-class"), tmp_path).task == (
        "multi-class"
    )
    with pytest.raises(ConfigError, match="task must be binary or"):
        vfl.Arrays(X, CLASSES, task="ordinal").table()


def test_tensors_of_bfloat16_are_numbers() -> None:
    given = torch.tensor([[1.5, 2.0]], dtype=torch.bfloat16)
    assert vfl.Arrays(given).x.tolist() == [[1.5, 2.0]]


def test_masked_values_are_gaps() -> None:
    masked = np.ma.masked_array([[1, 2], [3, 4]], [[False, True], [False, False]])
    assert np.isnan(vfl.Arrays(masked).x).tolist() == [[False, True], [False, False]]


@pytest.mark.parametrize(
    "y",
    [
        ["a", None],
        [1.0, np.nan],
        np.ma.masked_array([1, 2], [False, True]),
        np.ma.masked_array(["a", "b"], [False, True]),
    ],
)
def test_labels_with_gaps_are_refused(y: Any) -> None:
    with pytest.raises(DataError, match="y has no value in 1 rows, first in row 1"):
        vfl.Arrays(X[:2], y)


@pytest.mark.slow
def test_images_reach_networks_in_their_shape() -> None:
    digits = load_digits()
    left, right = digits.images[:300, :, :4], digits.images[:300, None, :, 4:]
    parts = [vfl.Arrays(left, digits.target[:300]), vfl.Arrays(torch.tensor(right))]
    options = QUICK | {"epochs": 8, "learning_rates": 0.01, "models": "cnn", "baselines": "on"}
    run = vfl.train(parts, **options)
    assert run.metrics["active"]["accuracy"] > 0.6
    said = run.predict([vfl.Arrays(left[:50]), vfl.Arrays(right[:50])])
    assert (said["prediction"] == digits.target[:50]).mean() > 0.6


def test_columns_of_another_number_are_no_images() -> None:
    table = vfl.Table(
        {"id": range(100), "a": X[:, 0], "y": CLASSES}, id="id", label="y", shape=[1, 1, 2]
    )
    other = vfl.Table({"id": range(100), "b": X[:, 1]}, id="id")
    with pytest.raises(DataError, match="makes 1 columns, and images of shape 1 x 1 x 2 have 2"):
        vfl.train([table, other], **QUICK)
    wrong: list[Any] = [[1, 2], [1, 0, 2], ["1", 2, 3]]
    for shape in wrong:
        with pytest.raises(ConfigError, match="shape must be channels, height and width"):
            vfl.Table({"id": [1], "a": [1]}, id="id", shape=shape)


def test_other_arrays_are_refused() -> None:
    with pytest.raises(DataError, match=r"y has shape \(3,\), and x has 100 rows"):
        vfl.Arrays(X, [1, 2, 3])
    with pytest.raises(DataError, match=r"shape \(2, 3, 4, 4, 4\)"):
        vfl.Arrays(np.zeros((2, 3, 4, 4, 4)))
    with pytest.raises(DataError, match="same number of rows"):
        vfl.train([vfl.Arrays(X, CLASSES), vfl.Arrays(X[1:])])
    with pytest.raises(ConfigError, match="names no label"):
        vfl.train(parties(None), **QUICK)
