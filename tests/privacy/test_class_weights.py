"""Class weights of true and of noised labels."""

import os
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tests.privacy.test_label_privacy import (
    ALL,
    TEACHING,
    entropy,
    labels,
    made,
    noised,
    sent_under,
)
from vfl_flower.common.errors import DataError
from vfl_flower.privacy.label_dp.class_weights import (
    balanced_weights,
    estimated_counts,
    weights_by_class,
)
from vfl_flower.privacy.label_dp.mechanisms import LabelNoise

COUNTS = torch.tensor([900, 60, 40])
TRUE = 1000 / (3 * COUNTS.double())
each_mechanism = pytest.mark.parametrize("mechanism", ALL)


def released(noise: LabelNoise, times: int = 1) -> Tensor:
    """Return noised rows of such labels, each counted so often."""
    return noise.release(torch.arange(3).repeat_interleave(COUNTS * times), entropy(1).randbytes)


def test_balanced_weights_make_classes_count_alike() -> None:
    """Of labels 0, 0, 0, 1 both classes count alike."""
    y = torch.tensor([0, 0, 0, 1])
    weights = balanced_weights(y, 2)
    assert weights.tolist() == pytest.approx([4 / 6, 4 / 2])
    assert weights_by_class(y, weights).mean().item() == pytest.approx(1)
    with pytest.raises(DataError, match="active: no training row is of class 2"):
        balanced_weights(y, 3)


@each_mechanism
def test_weights_of_noised_labels_come_to_those_of_true_ones(mechanism: str) -> None:
    """Of many rows, as the counts have no bias."""
    rows = released(made(mechanism, 3, 2.0, 2.0), times=100)
    assert estimated_counts(rows).sum().item() == pytest.approx(len(rows), rel=0.05)
    weights = balanced_weights(rows, 3)
    assert weights.tolist() == pytest.approx(TRUE.tolist(), rel=0.15)


@each_mechanism
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 5.0])
def test_counts_are_positive_and_weights_bounded_however_large_the_noise(
    mechanism: str, epsilon: float
) -> None:
    for _ in range(20):
        rows = made(mechanism, 3, epsilon, 2.0).release(
            torch.zeros(60, dtype=torch.int64), os.urandom
        )
        assert (estimated_counts(rows) >= 1).all()
        weights = balanced_weights(rows, 3)
        assert weights.amin() >= 1 / 3 - 1e-6
        assert weights.amax() <= 20


@each_mechanism
def test_a_noised_row_weighs_what_its_label_is_expected_to(mechanism: str) -> None:
    """Rows weigh the mean of their true weights, counted."""
    noise = made(mechanism, 3, 1.5, 2.0)
    y = torch.arange(3).repeat_interleave(COUNTS * 100)
    rows = released(noise, times=100)
    even = torch.zeros(len(y), 3)
    weight = weights_by_class(noise.posterior(rows, even), balanced_weights(rows, 3)).double()
    true = TRUE[y]
    assert weight.mean().item() == pytest.approx(1, abs=0.05)
    for low, high in ((0.0, 0.5), (0.5, 0.9), (0.9, 1.0)):
        least, most = weight.quantile(torch.tensor([low, high]).double())
        alike = (weight >= least) & (weight <= most)
        expected = weight[alike].mean().item()
        assert true[alike].mean().item() == pytest.approx(expected, rel=0.1)


def test_a_label_weighs_what_its_class_does() -> None:
    weights, y = torch.tensor([0.5, 2.0, 4.0]), torch.tensor([2, 0, 1])
    assert weights_by_class(y, weights).tolist() == [4, 0.5, 2]
    one_hot = torch.nn.functional.one_hot(y, 3).float()
    assert weights_by_class(one_hot, weights).tolist() == pytest.approx([4, 0.5, 2])


# A run ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("known_draws")
@pytest.mark.parametrize("turn", range(len(TEACHING)))
def test_class_weights_are_a_function_of_the_noised_labels(turn: int) -> None:
    """Other labels with the same noisy ones send the same messages."""
    case, mechanism = TEACHING[turn], ALL[turn % len(ALL)]
    cfg = noised(case, mechanism, blinding="none", epochs=1, class_weights="balanced")
    noise = made(mechanism, 10, 1.0, 2.0)
    rare = torch.where(labels(1797, 10) < 8, labels(1797, 10), 3)  # two classes have no label
    rows = noise.release(rare, entropy(7).randbytes)
    one, other = (sent_under(cfg, shift, rows) for shift in (0, 3))
    assert one == other
    assert one != sent_under(replace(cfg, class_weights="none"), 0, rows)  # they act
