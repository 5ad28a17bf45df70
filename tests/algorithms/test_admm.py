"""The z update: the minimum of Eq. 5, from wherever it starts."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from torch import Tensor

from vfl_flower.algorithms.admm import (
    MOST_STEPS,
    RESIDUAL,
    descent,
    nearest_distribution,
    weighted_z_update,
    z_update,
)

EPS = 2.0**-52
rates = st.floats(-3, 3).map(lambda power: 10.0**power)
classes = st.sampled_from((2, 3, 10, 100, 1000))
scales = st.sampled_from((0.0, 1e-3, 1.0, 30.0, 1e3, 1e6, 1e9))
Problem = tuple[Tensor, Tensor, Tensor]


def problem(C: int, scale: float, seed: int, soft: bool, rows: int = 7) -> Problem:
    """Draw predictions, duals as they arise, and training labels."""
    g = torch.Generator().manual_seed(seed)
    a = torch.randn(rows, C, generator=g) * scale
    y = torch.randint(C, (rows,), generator=g)
    belief = (3 * torch.randn(rows, C, generator=g, dtype=torch.float64)).softmax(1)
    t = belief if soft else y
    onehot = torch.nn.functional.one_hot(y, C)
    dual = (3 * torch.randn(rows, C, generator=g)).softmax(1) - onehot
    return a, dual, t


def gradient(z: Tensor, a: Tensor, dual: Tensor, t: Tensor, rho: float) -> Tensor:
    """Write the gradient of Eq. 5 down as it stands."""
    z = z.detach().requires_grad_()
    ce = torch.nn.functional.cross_entropy(z, t, reduction="sum")
    value = ce - (dual.double() * z).sum() + rho / 2 * ((a.double() - z) ** 2).sum()
    return torch.autograd.grad(value, z)[0]


def rounding(a: Tensor, dual: Tensor, rho: float) -> float:
    """Return the float64 rounding error of a gradient at such numbers."""
    largest = a.abs().max().item() + (2 + dual.abs().max().item()) / rho
    return 8 * EPS * largest * (1 + rho)


@given(rho=rates, C=classes, scale=scales, seed=st.integers(0, 10**6), soft=st.booleans())
def test_the_gradient_vanishes(rho: float, C: int, scale: float, seed: int, soft: bool) -> None:
    a, dual, t = problem(C, scale, seed, soft)
    solved = z_update(a, dual, t, rho)
    assert (solved.z.dtype, solved.dual.dtype) == (torch.float64, torch.float64)
    assert solved.residual <= RESIDUAL
    left = gradient(solved.z, a, dual, t, rho).abs().max()
    assert left <= RESIDUAL + rounding(a, dual, rho)
    assert solved.steps <= 30


@given(
    rho=rates,
    C=classes,
    scale=st.sampled_from((0.0, 1e-3, 1.0, 30.0, 1e3)),
    seed=st.integers(0, 10**6),
    soft=st.booleans(),
    power=st.floats(-7, 4),
)
def test_the_gradient_vanishes_with_weights_of_rows(
    rho: float, C: int, scale: float, seed: int, soft: bool, power: float
) -> None:
    a, dual, t = problem(C, scale, seed, soft)
    w = (10.0**power * torch.rand(len(a), generator=torch.Generator().manual_seed(seed))).float()
    w[0] = 0
    dual = w[:, None] * dual
    solved = weighted_z_update(a, dual, t, rho, w)
    W = w.double()[:, None]
    hard = torch.nn.functional.one_hot(t, C).double() if t.dim() == 1 else t
    left = W * (solved.z.softmax(1) - hard) - dual.double() + rho * (solved.z - a.double())
    size = rounding(a, dual, rho) + W.max() * (RESIDUAL + rounding(a, dual, rho) / rho)
    assert left.abs().max() <= size
    assert solved.steps <= 30
    assert (solved.dual[0] == 0).all()
    moved = dual.double() + rho * (a.double() - solved.z)  # Eq. 6
    assert (solved.dual - moved).abs().max() <= size


@given(
    rho=rates,
    C=classes,
    scale=scales,
    seed=st.integers(0, 10**6),
    far=st.sampled_from((1.0, 1e3, 1e6)),
)
def test_any_start_comes_to_the_same(
    rho: float, C: int, scale: float, seed: int, far: float
) -> None:
    a, dual, t = problem(C, scale, seed, soft=False)
    start = far * torch.randn(a.shape, generator=torch.Generator().manual_seed(seed + 1))
    near, other = z_update(a, dual, t, rho), z_update(a, dual, t, rho, start)
    assert other.steps < MOST_STEPS / 2
    # the gradient is rho-strongly monotone: the distance is at most the gradients' over rho
    bound = 2 * RESIDUAL * C**0.5 / rho + rounding(a, dual, rho) / rho
    assert (near.z - other.z).abs().max() <= bound


@given(rho=rates, scale=st.sampled_from((1.0, 30.0, 1e3)), seed=st.integers(0, 10**6))
@settings(max_examples=40)
def test_it_is_where_l_bfgs_b_ends(rho: float, scale: float, seed: int) -> None:
    """SciPy's, at its tightest, never finds less, and stops close by."""
    a, dual, t = (each.double() for each in problem(5, scale, seed, soft=True, rows=2))
    z = z_update(a, dual, t, rho).z
    for row in range(2):

        def value(z: np.ndarray, row: int = row) -> tuple[float, np.ndarray]:
            v = torch.from_numpy(z).requires_grad_()
            ce = torch.logsumexp(v, 0) - (t[row] * v).sum()
            f = ce - (dual[row] * v).sum() + rho / 2 * ((a[row] - v) ** 2).sum()
            return f.item(), torch.autograd.grad(f, v)[0].numpy()

        theirs = minimize(
            value,
            a[row].numpy(),
            jac=True,
            method="L-BFGS-B",
            options={"ftol": 0, "gtol": 0, "maxiter": 10**4, "maxfun": 10**5, "maxls": 100},
        )
        ours, slope = value(z[row].numpy())
        assert ours <= theirs.fun + 1e-9 * (1 + abs(theirs.fun))
        assert np.abs(slope).max() <= np.abs(theirs.jac).max() + RESIDUAL + rounding(a, dual, rho)
        apart = (np.linalg.norm(theirs.jac) + np.linalg.norm(slope)) / rho
        assert np.linalg.norm(z[row].numpy() - theirs.x) <= apart + 1e-9 * (1 + scale)


@given(rho=rates, C=classes, seed=st.integers(0, 10**6), soft=st.booleans())
def test_the_dual_is_eq_6_and_lemma_1(rho: float, C: int, seed: int, soft: bool) -> None:
    a, dual, t = problem(C, 3.0, seed, soft)
    solved = z_update(a, dual, t, rho)
    slack = RESIDUAL + rounding(a, dual, rho)
    assert torch.allclose(solved.dual, dual + rho * (a - solved.z), rtol=0, atol=slack)
    belief = t if soft else torch.nn.functional.one_hot(t, C).double()
    assert torch.allclose(solved.dual, solved.z.softmax(1) - belief, rtol=0, atol=slack)


@pytest.mark.slow
@given(rho=rates, seed=st.integers(0, 10**6))
def test_two_classes_are_one_number(rho: float, seed: int) -> None:
    """Bisection for d = z_0 - z_1 of two classes.

    tanh(d/2) + rho d = c.
    """
    a, dual, t = problem(2, 10.0, seed, soft=True)
    c = (rho * a.double() + dual + t) @ torch.tensor([1.0, -1.0], dtype=torch.float64)
    low, high = -(c.abs() + 1) / rho, (c.abs() + 1) / rho
    for _ in range(200):
        middle = (low + high) / 2
        above = torch.tanh(middle / 2) + rho * middle > c
        low, high = torch.where(above, low, middle), torch.where(above, middle, high)
    z = z_update(a, dual, t, rho).z
    assert torch.allclose(z[:, 0] - z[:, 1], low, rtol=1e-9, atol=1e-6)


def test_labels_are_one_hot_rows() -> None:
    a, dual, y = problem(10, 3.0, 0, soft=False)
    rows = torch.nn.functional.one_hot(y, 10).float()
    assert torch.equal(z_update(a, dual, y, 1.0).z, z_update(a, dual, rows, 1.0).z)


def test_rows_do_not_depend_on_each_other() -> None:
    """Up to the rounding of sums, whose order is a batch's own."""
    a, dual, t = problem(10, 30.0, 1, soft=True, rows=64)
    whole = z_update(a, dual, t, 0.01).z
    for row in range(0, 64, 9):
        each = slice(row, row + 1)
        alone = z_update(a[each], dual[each], t[each], 0.01).z
        assert torch.allclose(alone, whole[each], rtol=0, atol=1e-10)


@pytest.mark.parametrize("entry", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_stays_none(entry: float) -> None:
    """Training reports a loss that is not finite; the update does not."""
    a, dual, t = problem(3, 1.0, 0, soft=False)
    spoilt = a.clone()
    spoilt[2, 1] = entry
    z = z_update(spoilt, dual, t, 1.0).z
    assert not z[2].isfinite().all()
    others = [0, 1, 3, 4, 5, 6]
    assert torch.allclose(z[others], z_update(a, dual, t, 1.0).z[others], rtol=0, atol=1e-9)


@given(rho=rates, C=st.integers(2, 50), seed=st.integers(0, 10**6))
def test_the_closed_form_solves_the_hessian(rho: float, C: int, seed: int) -> None:
    g = torch.Generator().manual_seed(seed)
    p = torch.randn(3, C, generator=g, dtype=torch.float64).softmax(1)
    right = torch.randn(3, C, generator=g, dtype=torch.float64)
    unit = torch.eye(C, dtype=torch.float64)
    hessian = torch.diag_embed(p) - p[:, :, None] * p[:, None] + rho * unit
    theirs = torch.linalg.solve(hessian, right)
    assert torch.allclose(descent(p, right, rho), theirs, rtol=1e-8, atol=1e-8 / rho)


@given(C=classes, scale=scales, seed=st.integers(0, 10**6))
def test_the_nearest_distribution(C: int, scale: float, seed: int) -> None:
    """Kept entries exceed one threshold, others do not; the sum is 1."""
    g = torch.Generator().manual_seed(seed)
    v = scale * torch.randn(5, C, generator=g, dtype=torch.float64)
    w = nearest_distribution(v)
    assert (w >= 0).all()
    slack = 1e-12 * C * (1 + scale)
    assert torch.allclose(w.sum(1), torch.ones(5, dtype=torch.float64), rtol=0, atol=slack)
    for row, ours in zip(v, w, strict=True):
        threshold = (row - ours)[ours > 0].mean()
        assert ((row - threshold).clamp(min=0) - ours).abs().max() <= slack
