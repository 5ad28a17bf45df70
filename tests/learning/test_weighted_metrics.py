"""Metrics of weighted rows are those of repeated rows."""

import pytest
import torch

from vfl_flower.data.preprocessing.target import Target
from vfl_flower.learning.losses import Weighted
from vfl_flower.learning.metrics.judge import metrics_of
from vfl_flower.learning.metrics.predictions import Predictions

BY_CLASS = {"class_precision", "class_recall", "class_precision_std", "class_accuracy_std"}
BY_ROW = {"confusion", "calibration_error"} | BY_CLASS
TARGETS = [
    Target("binary", ("no", "yes"), positive=1),
    Target("multi-class", ("a", "b", "c")),
    Target("regression", (), 5.0, 2.0),
]


@pytest.mark.parametrize("target", TARGETS, ids=[each.task for each in TARGETS])
def test_a_row_of_weight_three_counts_as_three(target: Target) -> None:
    draw = torch.Generator().manual_seed(1)
    output = torch.randn(60, len(target.classes) or 1, generator=draw)
    y = torch.randn(60, generator=draw)
    if target.classes:
        y = torch.arange(60) % len(target.classes)
    often = torch.arange(60) % 4
    found = metrics_of(Predictions.of(output, Weighted(y, often.float() / 1.5), target))
    rows = torch.arange(60).repeat_interleave(often)
    expected = metrics_of(Predictions.of(output[rows], y[rows], target))
    plain = metrics_of(Predictions.of(output, y, target))
    assert len(found) > 3
    for name, value in found.items():
        if name in BY_ROW:
            assert value == plain[name]
        else:
            assert value == pytest.approx(expected[name], rel=1e-6), name
    assert found != plain


def test_a_class_without_weight_defines_no_area() -> None:
    y, weight = torch.tensor([0, 0, 1, 1]), torch.tensor([1.0, 1.0, 0.0, 0.0])
    output, target = torch.tensor([[0.0, 1], [2, 0], [1, 0], [0, 2]]), Target("binary", ("a", "b"))
    found = metrics_of(Predictions.of(output, Weighted(y, weight), target))
    assert (found["auc"], found["average_precision"]) == (None, None)
