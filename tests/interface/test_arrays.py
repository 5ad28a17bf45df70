"""Arrays of aligned rows from Python."""

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

import vfl_flower as vfl
from tests.interface.test_train import QUICK, weights
from vfl_flower.common.errors import ConfigError, DataError

X = np.random.default_rng(0).normal(size=(100, 4))
CLASSES = (X.sum(1) > 0).astype(int)


def parties(y: Any, x: Any = X) -> list[vfl.Arrays]:
    """Split columns over two parties."""
    return [vfl.Arrays(x[:, :2], y), vfl.Arrays(x[:, 2:])]


def test_arrays_and_tensors_are_trained_alike_and_predicted_in_order() -> None:
    run = vfl.train(parties(CLASSES), **QUICK | {"epochs": 6, "learning_rates": 0.01})
    tensors = vfl.train(
        parties(torch.tensor(CLASSES), torch.tensor(X)),
        **QUICK | {"epochs": 6, "learning_rates": 0.01},
    )
    assert weights(run) == weights(tensors)
    said = run.predict([vfl.Arrays(X[:30, :2]), vfl.Arrays(X[:30, 2:])])
    assert list(said["id"]) == list(range(30))
    assert (said["prediction"].astype(int) == CLASSES[:30]).mean() > 0.8


@pytest.mark.parametrize(
    ("y", "task", "classes"),
    [
        (np.where(CLASSES, "yes", "no"), "binary", ["no", "yes"]),
        (CLASSES.astype(bool), "binary", ["false", "true"]),
        (np.arange(100) % 3, "multi-class", ["0", "1", "2"]),
        (X.sum(1), "regression", []),
    ],
)
def test_the_type_of_labels_sets_the_task(y: Any, task: str, classes: list[str]) -> None:
    run = vfl.train(parties(y), **QUICK)
    assert (run.result["task"], run.result["classes"]) == (task, classes)


def test_images_reach_networks_in_their_shape() -> None:
    digits = load_digits()
    left, right = digits.images[:300, :, :4], digits.images[:300, None, :, 4:]
    parts = [vfl.Arrays(left, digits.target[:300]), vfl.Arrays(torch.tensor(right))]
    options = QUICK | {"epochs": 8, "learning_rates": 0.01, "models": "cnn", "baselines": "on"}
    run = vfl.train(parts, **options)
    assert run.metrics["active"]["accuracy"] > 0.6
    said = run.predict([vfl.Arrays(left[:50]), vfl.Arrays(right[:50])])
    assert (said["prediction"].astype(int) == digits.target[:50]).mean() > 0.6


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
