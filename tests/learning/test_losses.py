"""The losses, and the residual from which a party without labels learns."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from torch import Tensor

from vfl_flower.config.catalog import LOSSES
from vfl_flower.learning.losses import (
    Loss,
    Weighted,
    binary_cross_entropy,
    loss_of,
    residuals,
)

FEWER = settings(max_examples=40)
LOSS_NAMES = st.sampled_from(sorted(LOSSES))


@st.composite
def logits_and_labels(draw: st.DrawFn) -> tuple[Tensor, Tensor]:
    """Draw logits (B, C) within +-8, and labels (B,).

    No probability rounds to 0 or 1.
    """
    rows, classes = draw(st.integers(1, 8)), draw(st.integers(2, 10))
    elements = st.floats(-8, 8, width=32)
    logits = draw(hnp.arrays(np.float32, (rows, classes), elements=elements))
    labels = draw(hnp.arrays(np.int64, rows, elements=st.integers(0, classes - 1)))
    return torch.from_numpy(logits), torch.from_numpy(labels)


def residual(loss: Loss, output: Tensor, y: Tensor) -> tuple[Tensor, float]:
    """Return gradient and loss of a single party."""
    (gradient,), (value,) = residuals(loss, [output], y)
    return gradient, value


@FEWER
@given(logits_and_labels())
def test_binary_cross_entropy_is_the_papers_formula(batch: tuple[Tensor, Tensor]) -> None:
    """Eq. 8, in bits, with the logistic function, in float64."""
    logits, y = batch
    total = 0.0
    for row, label in zip(logits.double().numpy(), y.tolist(), strict=True):
        for c, logit in enumerate(row):
            p = 1 / (1 + np.exp(-logit))
            total -= np.log2(p) if c == label else np.log2(1 - p)
    # Torch's float32 form cancels for confident logits: each term is right to about 1e-7.
    assert binary_cross_entropy(logits, y).item() == pytest.approx(
        total / len(y), rel=1e-5, abs=3e-6
    )


@FEWER
@given(logits_and_labels())
def test_cross_entropy_is_the_mean_of_minus_log_softmax(batch: tuple[Tensor, Tensor]) -> None:
    logits, y = batch
    z = logits.double().numpy()
    logs = np.log(np.exp(z).sum(1)) - z[np.arange(len(z)), y.numpy()]
    assert loss_of("cross-entropy")(logits, y).item() == pytest.approx(
        logs.mean(), rel=1e-4, abs=1e-5
    )


@FEWER
@given(LOSS_NAMES, logits_and_labels())
def test_residual_is_autograds_gradient_and_the_loss(
    name: str, batch: tuple[Tensor, Tensor]
) -> None:
    logits, y = batch
    leaf = logits.clone().requires_grad_()
    loss = loss_of(name)(leaf, y)
    loss.backward()
    gradient, value = residual(loss_of(name), logits, y)
    assert leaf.grad is not None
    assert torch.equal(gradient, leaf.grad)
    assert value == loss.item()


@FEWER
@given(LOSS_NAMES, logits_and_labels(), st.integers(1, 4))
def test_residuals_of_several_parties_are_those_of_each_alone(
    name: str, batch: tuple[Tensor, Tensor], parties: int
) -> None:
    logits, y = batch
    outputs = [logits * (k + 1) / parties for k in range(parties)]
    gradients, values = residuals(loss_of(name), outputs, y)
    assert len(gradients) == len(values) == parties
    for output, gradient, value in zip(outputs, gradients, values, strict=True):
        alone, loss = residual(loss_of(name), output, y)
        assert torch.equal(gradient, alone)
        assert value == loss


@FEWER
@given(logits_and_labels())
def test_residuals_in_closed_form(batch: tuple[Tensor, Tensor]) -> None:
    """Softmax, or the logistic function over ln 2.

    (p - onehot) / B.
    """
    logits, y = batch
    z, onehot = logits.double(), F.one_hot(y, logits.shape[1]).double()
    for name, expected in (
        ("cross-entropy", z.softmax(1) - onehot),
        ("binary-cross-entropy", (z.sigmoid() - onehot) / np.log(2)),
    ):
        gradient, _ = residual(loss_of(name), logits, y)
        assert (gradient.double() - expected / len(y)).abs().max().item() < 1e-6


@FEWER
@given(LOSS_NAMES, logits_and_labels())
def test_each_row_of_a_residual_is_negative_at_the_label_only(
    name: str, batch: tuple[Tensor, Tensor]
) -> None:
    """The labels of the batch, as `strategies.easter` states under Learns."""
    logits, y = batch
    gradient, _ = residual(loss_of(name), logits, y)
    assert (gradient < 0).nonzero()[:, 1].tolist() == y.tolist()


@pytest.mark.parametrize("name", LOSSES)
def test_residual_leaves_its_input_and_graph_alone(name: str) -> None:
    weight = torch.ones(2, 3, requires_grad=True)
    output = weight * 2
    gradient, _ = residual(loss_of(name), output, torch.tensor([0, 2]))
    assert not gradient.requires_grad
    assert weight.grad is None
    assert output.grad_fn is not None


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("size", [1e4, -1e4])
def test_large_logits_stay_finite(name: str, size: float) -> None:
    gradient, value = residual(loss_of(name), torch.tensor([[size, -size, 0.0]]), torch.tensor([0]))
    assert np.isfinite(value)
    assert gradient.isfinite().all()


# Weights of rows ----------------------------------------------------------------------------------


@FEWER
@given(LOSS_NAMES, logits_and_labels(), st.integers(0, 99))
def test_a_weighted_loss_is_the_mean_of_weighted_rows(
    name: str, batch: tuple[Tensor, Tensor], seed: int
) -> None:
    """For labels and one-hot rows; weights of 1 give the plain mean."""
    logits, y = batch
    weight = torch.from_numpy(np.random.default_rng(seed).uniform(0, 9, len(y))).float()
    loss = loss_of(name)
    each = [loss(z[None], c[None]).item() for z, c in zip(logits, y, strict=True)]
    expected = np.mean(weight.numpy() * each)
    for labels in (y, F.one_hot(y, logits.shape[1]).float()):
        value = loss(logits, Weighted(labels, weight)).item()
        assert value == pytest.approx(expected, rel=1e-4, abs=1e-5)
    even = loss(logits, Weighted(y, torch.ones(len(y)))).item()
    assert even == pytest.approx(loss(logits, y).item(), rel=1e-4, abs=1e-5)


# Regression ---------------------------------------------------------------------------------------


@FEWER
@given(
    hnp.arrays(
        np.float32, st.tuples(st.integers(1, 8), st.just(2)), elements=st.floats(-9, 9, width=32)
    )
)
def test_mean_squared_error_in_closed_form(pairs: NDArray[np.float32]) -> None:
    """Its residual is 2 (output - y) / B, row by row."""
    output, y = torch.from_numpy(pairs[:, :1].copy()), torch.from_numpy(pairs[:, 1].copy())
    gradient, value = residual(loss_of("mean-squared-error"), output, y)
    apart = pairs[:, 0].astype(np.float64) - pairs[:, 1]
    weight = torch.arange(len(y)).float()
    weighted = loss_of("mean-squared-error")(output, Weighted(y, weight)).item()
    assert weighted == pytest.approx(np.mean(weight.numpy() * apart**2), rel=1e-5, abs=1e-6)
    assert gradient.shape == output.shape
    assert value == pytest.approx(np.mean(apart**2), rel=1e-5, abs=1e-6)
    np.testing.assert_allclose(gradient[:, 0], 2 * apart / len(apart), rtol=1e-4, atol=1e-5)
