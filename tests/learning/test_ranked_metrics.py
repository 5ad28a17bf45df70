"""Metrics that are computed here are scikit-learn's."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    average_precision_score,
    confusion_matrix,
    precision_recall_fscore_support,
    roc_auc_score,
)

from vfl_flower.data.preprocessing.target import Target
from vfl_flower.learning.losses import Weighted
from vfl_flower.learning.metrics.of_classes import confusion
from vfl_flower.learning.metrics.predictions import Predictions
from vfl_flower.learning.metrics.ranked import Area, mean_area, precision_area, roc_area

FOUR = Target("multi-class", ("a", "b", "c", "d"))
seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize(
    ("area", "score"), [(roc_area, roc_auc_score), (precision_area, average_precision_score)]
)
@given(seed=seeds, digits=st.integers(0, 3), kind=st.sampled_from(["alike", "some", "none"]))
def test_areas_are_scikit_learns(area: Area, score: Any, seed: int, digits: int, kind: str) -> None:
    """With equal scores, with weights, and with rows that weigh nothing."""
    draw = np.random.default_rng(seed)
    rows = int(draw.integers(4, 60))
    hits, scores = draw.random((rows, 3)) < 0.4, draw.normal(size=(rows, 3)).round(digits)
    hits[:2] = [[True], [False]]
    weight = draw.random(rows) + 0.1 if kind == "some" else draw.integers(0, 3, rows).astype(float)
    weight[:2] = 1
    given = None if kind == "alike" else weight
    expected = score(hits.astype(int), scores, average="macro", sample_weight=given)
    assert mean_area(area, hits, scores, given) == pytest.approx(expected, abs=1e-12)


@given(seed=seeds, weighted=st.booleans())
def test_counts_are_scikit_learns(seed: int, weighted: bool) -> None:
    """With classes that no row is, or is predicted as."""
    draw = torch.Generator().manual_seed(seed)
    output, y = torch.randn(12, 4, generator=draw), torch.randint(0, 4, (12,), generator=draw)
    labels = Weighted(y, torch.rand(12, generator=draw)) if weighted else y
    said = Predictions.of(output, labels, FOUR)
    how = {"labels": range(4), "average": None, "zero_division": np.nan}
    expected = precision_recall_fscore_support(said.truth, said.decided, **how, **said.counted)
    for ours, theirs in zip(said.by_class, expected[:3], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
    cells = confusion_matrix(said.truth, said.decided, labels=range(4))
    assert confusion(said) == cells.tolist()


@given(seed=seeds)
def test_counts_of_several_labels_are_scikit_learns(seed: int) -> None:
    draw = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 2, (9, 3), generator=draw).float()
    said = Predictions(torch.randn(9, 3, generator=draw), y, Target("multi-label", ("a", "b", "c")))
    how = {"average": None, "zero_division": np.nan}
    expected = precision_recall_fscore_support(said.truth, said.decided, **how)
    for ours, theirs in zip(said.by_class, expected[:3], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
