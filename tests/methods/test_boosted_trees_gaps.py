"""Boosted trees on tables with empty cells."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

import vfl_flower as vfl
from vfl_flower.algorithms.boosting.bins import Bins
from vfl_flower.algorithms.boosting.forest import Splits
from vfl_flower.algorithms.boosting.gains import Regularizer
from vfl_flower.algorithms.boosting.growth import Growth

ROWS, HELD_OUT = 300, 100
OPTIONS: dict[str, Any] = {"tree_depth": 2, "bins": 255, "leaf_l2": 0.0, "least_child": 0.001}
HOLDERS: list[list[str | int]] = [["a", "b"], ["c", "d"], ["e", "f"]]


def table() -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Make six columns; whether one is empty tells of the label."""
    draw = np.random.default_rng(0)
    x = draw.normal(size=(ROWS, 6))
    y = x[:, 0] + x[:, 2] - x[:, 4] + 1.5 * (draw.random(ROWS) < 0.4) > 0.5
    holes = draw.random(x.shape) < 0.2
    holes[:, 3] = y & (draw.random(ROWS) < 0.5)
    holes[:, 5] = False
    x[holes] = np.nan
    return pd.DataFrame(x, columns=list("abcdef")), y.astype(np.int64)


def test_equal_to_scikit_learns_on_the_joint_table() -> None:
    x, y = table()
    train, test = slice(HELD_OUT, None), slice(0, HELD_OUT)
    theirs = HistGradientBoostingClassifier(
        max_iter=20, max_depth=2, max_leaf_nodes=None, min_samples_leaf=1, early_stopping=False
    ).fit(x[train], y[train])
    settings: dict[str, Any] = {"epochs": 20, "learning_rate": 0.1, "options": OPTIONS}
    ours = vfl.VFLClassifier(HOLDERS, method="boosted_trees", **settings).fit(x[train], y[train])
    expected, filled = theirs.predict_proba(x), theirs.predict_proba(x.fillna(0.0))
    found = ours.predict_proba(x)
    np.testing.assert_allclose(found[train], expected[train], atol=1e-5)
    # where a node has no gaps, rounding decides which way theirs go
    alike = np.abs(found - expected)[test].max(1) < 1e-5
    assert alike.mean() >= 0.95
    assert np.abs(filled - expected)[train].max() > 0.01


@pytest.mark.parametrize(("first", "way"), [([0, 0, 0, 1], True), ([0, 1, 1, 1], False)])
def test_a_gap_that_training_had_none_of_goes_where_most_rows_go(
    first: list[int], way: bool
) -> None:
    x = np.array(first, np.float32)[:, None]
    kept = Splits(1, 1, 1)
    made, free = (kept, torch.Generator(), 1.0, Regularizer(1.0, 0.0)), np.zeros(1, np.int8)
    growth = Growth(lambda: Bins(x, 8), *made, signs=free, hidden=False)
    growth.begin(0, np.ones((4, 1), np.int32), np.ones((4, 1), np.int32), np.ones(2))
    growth.split(np.array([0]), np.array([0]))
    assert kept.directions(np.array([[np.nan]], np.float32)).tolist() == [[way]]
