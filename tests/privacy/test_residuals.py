"""Residuals of honest runs pass the check under all options."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.config.catalog import WIRE_PRECISIONS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.losses import Weighted, loss_of, residuals
from vfl_flower.learning.wire_precision import as_sent
from vfl_flower.parties.residuals import Residuals
from vfl_flower.privacy.label_dp.mechanisms import Laplace
from vfl_flower.privacy.label_dp.training_labels import TrainingLabels

LOSSES = ["cross-entropy", "binary-cross-entropy"]
MECHANISMS = ["none", "laplace", "alibi", "randomized-response"]
SCALES = [1e-3, 1.0, 30.0, 1e4]
CASES: list[dict[str, Any]] = [
    *({"loss": a, "label_privacy": b} for a, b in product(LOSSES, MECHANISMS)),
    *(
        {"loss": a, "label_privacy": b, "class_weights": "balanced"}
        for a, b in product(LOSSES, MECHANISMS)
    ),
    *({"loss": a, "largest_weight": 9.0} for a in LOSSES),
    {"loss": "cross-entropy", "largest_weight": 9.0, "class_weights": "balanced"},
    {"loss": "cross-entropy", "label_privacy": "laplace", "label_epsilon": 0.1},
    {"loss": "cross-entropy", "label_privacy": "randomized-response", "label_epsilon": 8.0},
]
each_precision = pytest.mark.parametrize("precision", WIRE_PRECISIONS)
each_case = pytest.mark.parametrize("case", CASES, ids=str)


def run(
    case: dict[str, Any], classes: int, scale: float, precision: str = "float32"
) -> tuple[Residuals, Tensor, Array]:
    """Return the check, a batch's outputs and residuals, as they arrive."""
    cfg = RunConfig(method="vfedmh", models="mlp", wire_precision=precision, **case)
    random = torch.Generator().manual_seed(int(scale) + classes)
    y = torch.randint(classes, (120,), generator=random)
    y[:classes] = torch.arange(classes)
    y[y == 0] = torch.where(torch.arange(int((y == 0).sum())) < 2, 0, 1)  # a rare class
    weights = None if cfg.largest_weight == 1 else torch.linspace(0, cfg.largest_weight, 120)
    labels = TrainingLabels(cfg, y, classes, loss_of(cfg.loss), torch.arange(120), weights)
    R = scale * torch.randn(120, classes, generator=random)
    R[::3] += scale * torch.nn.functional.one_hot(y[::3], classes)
    R = as_sent(R, precision)
    (g,), _ = residuals(labels.loss, [R], labels.of(torch.arange(120)))
    return Residuals(cfg, classes, cfg.loss, len(y)), R, as_sent(g, precision).numpy()


@each_case
@each_precision
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("classes", [2, 10])
def test_honest_residuals_pass(
    case: dict[str, Any], scale: float, classes: int, precision: str
) -> None:
    check, R, g = run(case, classes, scale, precision)
    assert check.fault(g, R) == ""
    assert check.fault(g, None) == ""
    if case == {"loss": "cross-entropy", "label_privacy": "none"}:
        assert check.one_hot(g, R)


@each_precision
@pytest.mark.parametrize(
    ("mechanism", "classes", "share", "rows"),
    [
        *(("randomized-response", 26, 0.5, 2048), ("randomized-response", 100, 0.5, 512)),
        *(("laplace", 10, 0.9, 2048), ("laplace", 100, 0.9, 512)),
    ],
)
def test_residuals_of_small_weights_in_large_batches_pass(
    mechanism: str, classes: int, share: float, rows: int, precision: str
) -> None:
    """Small numbers of a frequent class lose most in half precision."""
    random = torch.Generator().manual_seed(classes)
    y = torch.randint(classes, (rows,), generator=random)
    y[: int(share * rows)] = 0
    cfg = RunConfig(
        method="vfedmh",
        models="mlp",
        loss="cross-entropy",
        label_privacy=mechanism,
        class_weights="balanced",
        wire_precision=precision,
    )
    every = torch.arange(rows)
    labels = TrainingLabels(cfg, y, classes, loss_of(cfg.loss), every)
    check = Residuals(cfg, classes, cfg.loss, rows)
    for _ in range(5):
        R = as_sent(3 * torch.randn(rows, classes, generator=random), precision)
        (g,), _ = residuals(labels.loss, [R], labels.of(every))
        assert check.fault(as_sent(g, precision).numpy(), R) == ""


@each_precision
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("confidence", [0.9, 0.995, 0.9998])
def test_confident_rows_have_no_room_for_other_residuals(
    loss: str, confidence: float, precision: str
) -> None:
    """None of zero, none that is turned around, none of another direction."""
    cfg = RunConfig(method="vfedmh", models="mlp", loss=loss, wire_precision=precision)
    y = torch.arange(64) % 10
    onehot = torch.nn.functional.one_hot(y, 10)
    odds = confidence / (1 - confidence) * (9 if loss == "cross-entropy" else 1)
    R = as_sent(
        (2 * onehot - 1) * math.log(odds) / (2 if loss == "cross-entropy" else 1), precision
    )
    (g,), _ = residuals(loss_of(loss), [R], y)
    check = Residuals(cfg, 10, loss, 1000)
    sent = as_sent(g, precision)
    assert check.one_hot(sent.numpy(), R)
    for wrong in (
        0 * sent,
        -sent,
        sent.roll(1, 0),
        sent + 1e-4 * torch.sign(torch.arange(10) - 4.5),
    ):
        arrived = as_sent(wrong, precision).numpy()
        assert not check.one_hot(arrived, R)
        assert check.fault(arrived, R)


@each_case
@each_precision
@pytest.mark.parametrize("classes", [2, 10])
def test_other_residuals_do_not(case: dict[str, Any], classes: int, precision: str) -> None:
    """One row of a batch is enough."""
    check, R, g = run(case, classes, 1.0, precision)
    own = R[7].numpy()
    rows = [-0.2 * own, np.full_like(own, 0.1), 5 * np.sign(own)]
    if not (check.weighted and isinstance(check.noise, Laplace)):
        rows.append(g[7] + 0.02 * own)  # else of two classes some weight and posterior make it
    for row in rows:
        other = g.copy()
        other[7] = row
        assert check.fault(other, R), row


def test_without_the_output_a_loss_bounds_entries_and_sums() -> None:
    check, _, g = run({"loss": "cross-entropy"}, 10, 1.0)
    assert "larger than the loss allows" in check.fault(300 * g, None)
    assert "do not add up to 0" in check.fault(g + 1e-4, None)
    other, _, g = run({"loss": "binary-cross-entropy"}, 10, 1.0)
    assert other.fault(g + 1e-4, None) == ""


@pytest.mark.parametrize("largest", [1.0, 9.0])
def test_residuals_of_several_labels_may_have_weights(largest: float) -> None:
    cfg = RunConfig(method="vfedmh", models="mlp", largest_weight=largest)
    check = Residuals(cfg, 3, "cross-entropy", 120, several=True)
    random = torch.Generator().manual_seed(1)
    R, y = (30 * torch.randn(120, 3, generator=random) for _ in range(2))
    labels = (y > 0).float()
    weight = torch.linspace(0, 9, 120)
    (g,), _ = residuals(loss_of("binary-cross-entropy"), [R], Weighted(labels, weight))
    assert (check.fault(g.numpy(), R) == "") == (largest == 9)
    g[7] = 0.01 * R[7]
    assert check.fault(g.numpy(), R)


def test_numbers_of_a_regression_are_free() -> None:
    cfg = RunConfig(method="agg_vfl", models="mlp")
    check = Residuals(cfg, 1, "cross-entropy", 100)
    g = np.linspace(-1e6, 1e6, 9, dtype=np.float32)[:, None]
    assert check.fault(g, torch.zeros(9, 1)) == check.fault(g, None) == ""
