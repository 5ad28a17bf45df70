"""Client-level differential privacy piece by piece: mechanism, accountants, count and budget."""

import math
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.stats import kstest, norm
from torch import Tensor

from vfl_flower.common.errors import ConfigError, PrivacyError, RunError
from vfl_flower.config.catalog import ACCOUNTANTS
from vfl_flower.config.registry import METHODS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.splits import rows_of
from vfl_flower.learning.batching import drawn
from vfl_flower.learning.schedule import planned_uploads, steps_per_epoch
from vfl_flower.privacy.client_dp.accounting import (
    ORDERS,
    epsilon_of,
    least_sigma,
    most_uploads,
    rdp_epsilon,
)
from vfl_flower.privacy.client_dp.budget import Budget, budget_of
from vfl_flower.privacy.client_dp.gaussian import FINENESS, Gaussian
from vfl_flower.privacy.client_dp.upload_log import Counts, Uploads

SIGMAS = st.floats(0.1, 1000)
CLIPS = st.floats(1e-6, 1e6)
DELTA = 1e-5
CFG = RunConfig(method="splitnn", models="mlp", dp_sigma=2.0)
ROWS = 1797  # of the digits

# The mechanism --------------------------------------------------------------------------------


def matrices() -> st.SearchStrategy[Tensor]:
    """Return uploads of all sizes of numbers, zeros among them."""
    numbers = st.floats(allow_nan=False, allow_infinity=False, width=32)
    return arrays(np.float32, array_shapes(min_dims=2, max_dims=2), elements=numbers).map(
        torch.from_numpy
    )


@given(SIGMAS, CLIPS)
def test_the_noise_is_never_less_than_asked_for(sigma: float, clip: float) -> None:
    mechanism = Gaussian(sigma, clip)
    assert math.frexp(mechanism.step)[0] == 0.5  # a power of two
    noise = Fraction(mechanism.deviation) * Fraction(mechanism.step)
    wanted = Fraction(sigma) * Fraction(clip)
    assert wanted <= noise <= wanted * (1 + Fraction(1, 1 << FINENESS))
    assert 1 << FINENESS <= mechanism.deviation <= 2 << FINENESS


@given(matrices(), SIGMAS, CLIPS)
def test_no_upload_is_longer_than_the_clip(x: Tensor, sigma: float, clip: float) -> None:
    mechanism = Gaussian(sigma, clip)
    squares = sum(int(steps) ** 2 for steps in mechanism.clipped(x).ravel())
    assert squares * Fraction(mechanism.step) ** 2 <= Fraction(clip) ** 2


@given(matrices(), SIGMAS, CLIPS)
def test_clipping_only_shortens(x: Tensor, sigma: float, clip: float) -> None:
    """Towards zero, by less than a step and what rounding takes; and in the same direction."""
    mechanism = Gaussian(sigma, clip)
    kept = torch.from_numpy(mechanism.clipped(x)) * mechanism.step
    meant = x.double() * min(1.0, clip / (x.double().norm().item() or 1.0))
    lost = meant.abs() - kept.abs()
    assert (kept * meant >= 0).all()
    assert (lost >= -1e-9 * meant.abs()).all()
    assert (lost <= mechanism.step + 1e-9 * meant.abs()).all()


def test_nothing_becomes_noise_alone() -> None:
    assert not Gaussian(2.0, 1.0).clipped(torch.zeros(3, 4)).any()
    assert Gaussian(2.0, 1.0).clipped(torch.empty(0, 4)).shape == (0, 4)


def test_a_norm_that_is_too_small_is_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounding could understate it; whole numbers have the last word."""
    true = Tensor.norm
    monkeypatch.setattr(Tensor, "norm", lambda x: true(x) * (1 - 1e-5))
    steps = Gaussian(1.0, 1.0).clipped(torch.tensor([[1e6, 0.0]]))
    assert (1 << FINENESS) - 10 < steps[0, 0] <= 1 << FINENESS


@pytest.mark.parametrize(("sigma", "clip"), [(2.0, 1.0), (0.1, 5.0), (70.0, 0.0005)])
def test_what_is_added_is_gaussian(sigma: float, clip: float) -> None:
    mechanism = Gaussian(sigma, clip)
    x = torch.linspace(-1, 1, 20_000).reshape(200, 100)
    noised = mechanism.release(x, random.Random(0).randbytes)  # noqa: S311
    assert (noised.dtype, noised.shape) == (torch.float32, x.shape)
    steps = noised.double().numpy() / mechanism.step
    assert (steps == np.rint(steps)).all()  # on the grid
    noise = (steps - mechanism.clipped(x)) / mechanism.deviation
    assert kstest(noise.ravel(), "norm").pvalue > 0.001
    assert noise.std() == pytest.approx(1, rel=0.02)


def test_every_upload_is_noised_anew() -> None:
    mechanism, x = Gaussian(2.0, 1.0), torch.ones(4, 4)
    assert not torch.equal(mechanism.release(x), mechanism.release(x))


# The accountants ------------------------------------------------------------------------------


def theorem_2(sigma: float, uploads: int, delta: float) -> float:
    """Return VIM's Theorem 2 at the best of the accountant's orders."""
    return min(
        uploads * a / (2 * sigma**2)
        + math.log((a - 1) / a)
        - (math.log(delta) + math.log(a)) / (a - 1)
        for a in ORDERS
    )


@settings(max_examples=30, deadline=None)
@given(st.floats(0.5, 100), st.integers(1, 5000), st.sampled_from((1e-3, 1e-5, 1e-9)))
def test_rdp_is_theorem_2(sigma: float, uploads: int, delta: float) -> None:
    expected = theorem_2(sigma, uploads, delta)
    ours = epsilon_of(sigma, uploads, delta, "rdp")
    assert ours == pytest.approx(max(expected, 0.0), rel=1e-9)


def test_the_grid_of_orders_costs_next_to_nothing() -> None:
    """At the very best order epsilon would be lower by less than a ten-thousandth."""
    for sigma, uploads in ((8.0, 106), (1.0, 1000), (500.0, 10)):
        fine = 1 + np.geomspace(0.0101, 1e5, 200_000)
        values = (
            uploads * fine / (2 * sigma**2)
            + np.log1p(-1 / fine)
            - np.log(DELTA * fine) / (fine - 1)
        )
        assert epsilon_of(sigma, uploads, DELTA, "rdp") <= values.min() * 1.0001


def test_pld_is_tighter() -> None:
    """VIM's two epochs on MNIST."""
    assert epsilon_of(8.0, 106, DELTA, "rdp") == pytest.approx(6.33, abs=0.01)
    assert epsilon_of(8.0, 106, DELTA, "pld") == pytest.approx(5.88, abs=0.01)


@pytest.mark.parametrize("ratio", [0.05, 0.5, 1.0, 3.0, 50.0])
def test_pld_is_a_bound_and_a_close_one(ratio: float) -> None:
    """The exact delta of a Gaussian at the epsilon found is delta or a little less."""
    epsilon = epsilon_of(ratio, 1, DELTA, "pld")
    exact = norm.cdf(0.5 / ratio - epsilon * ratio) - math.exp(epsilon) * norm.cdf(
        -0.5 / ratio - epsilon * ratio
    )
    assert 0.99 * DELTA <= exact <= DELTA * (1 + 1e-6)


@pytest.mark.parametrize("accountant", ACCOUNTANTS)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0, 100.0])
def test_the_least_noise_is_enough_and_no_more(epsilon: float, accountant: str) -> None:
    for uploads in (1, 17, 5000):
        sigma = least_sigma(epsilon, uploads, DELTA, accountant)
        assert epsilon_of(sigma, uploads, DELTA, accountant) <= epsilon
        assert epsilon_of(sigma * 0.999 - 0.001, uploads, DELTA, accountant) > epsilon
        assert most_uploads(epsilon, sigma, DELTA, accountant) >= uploads


@pytest.mark.parametrize("accountant", ACCOUNTANTS)
def test_the_most_uploads_are_within_the_target(accountant: str) -> None:
    most = most_uploads(8.0, 8.0, DELTA, accountant)
    assert most > 106
    assert epsilon_of(8.0, most, DELTA, accountant) <= 8
    assert epsilon_of(8.0, most + 1, DELTA, accountant) > 8


def test_no_upload_costs_nothing() -> None:
    assert epsilon_of(2.0, 0, DELTA, "rdp") == 0
    assert rdp_epsilon(0.01, DELTA) < math.inf


# The count ------------------------------------------------------------------------------------


def anything(counts: Counts) -> bool:
    return True


def test_uploads_are_counted_in_a_file_of_the_partys_own(tmp_path: Path) -> None:
    folder = tmp_path / "party-1"
    for kind in ("training", "training", "evaluation"):
        assert Uploads(folder).add(kind, anything)  # another object goes on in the same file
    assert Uploads(folder).counts() == {"training": 2, "evaluation": 1}
    (file,) = folder.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700


def test_what_is_not_allowed_is_not_counted(tmp_path: Path) -> None:
    uploads = Uploads(tmp_path)
    assert uploads.add("training", lambda counts: counts["training"] <= 1)
    assert not uploads.add("training", lambda counts: counts["training"] <= 1)
    assert uploads.counts() == Counts(training=1)


def test_one_party_built_many_times_at_once_counts_each_upload_once(tmp_path: Path) -> None:
    def add(number: int) -> bool:
        kind = "training" if number % 2 else "evaluation"
        return Uploads(tmp_path).add(kind, lambda counts: counts.total() <= 40)

    with ThreadPoolExecutor(8) as pool:
        counted = list(pool.map(add, range(60)))
    assert sum(counted) == Uploads(tmp_path).counts().total() == 40


def test_a_damaged_count_is_an_error(tmp_path: Path) -> None:
    Uploads(tmp_path).add("training", anything)
    Uploads(tmp_path).path.write_bytes(b"tt\0t")
    for use in (Uploads(tmp_path).counts, partial(Uploads(tmp_path).add, "training", anything)):
        with pytest.raises(PrivacyError, match="uploads is damaged"):
            use()


def test_a_count_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "party-1").write_text("")
    with pytest.raises(RunError, match="cannot be used"):
        Uploads(tmp_path / "party-1").add("training", anything)


# The budget -----------------------------------------------------------------------------------


def budget(**changes: float | str) -> Budget:
    cfg = replace(CFG, **changes)  # type: ignore[arg-type]
    found = budget_of(cfg, rows_of(cfg, ROWS))
    assert found
    return found


@given(
    st.integers(0, 9),
    st.integers(1, 1294),
    st.integers(0, 40),
    st.integers(1, 500),
)
def test_the_plan_is_what_training_asks(epochs: int, batch: int, every: int, at_once: int) -> None:
    cfg = RunConfig(epochs=epochs, batch_size=batch, eval_every=every, eval_batch_size=at_once)
    rows = rows_of(cfg, ROWS)
    pieces = {part: len(range(0, len(rows[part]), at_once)) for part in rows}
    steps = len(range(0, len(rows["train"]), batch))
    evaluations = 0
    for step in range(1, epochs * steps + 1):
        evaluations += step % steps == 0 or (every > 0 and step % every == 0)
    assert planned_uploads(cfg, rows) == {
        "training": epochs * steps,
        "evaluation": evaluations * pieces["validation"] + pieces["test"],
    }


@given(st.integers(1, 9), st.integers(0, 99), st.sampled_from((0.2, 0.5, 0.9)))
def test_the_plan_is_the_busiest_party_s(parties: int, seed: int, share: float) -> None:
    some = RunConfig(method="vimadmm", parties=parties + 1, seed=seed, participation=share)
    one = RunConfig(method="vafl", parties=parties + 1, seed=seed, vafl_mode="asynchronous")
    steps = some.epochs * steps_per_epoch(some, len(rows_of(some, ROWS)["train"]))
    drawings = [k for step in range(steps) for k in drawn(some, step)]
    planned = [planned_uploads(cfg, rows_of(cfg, ROWS))["training"] for cfg in (some, one)]
    assert planned == [max(map(drawings.count, range(1, parties + 1))), math.ceil(steps / parties)]


def test_there_is_no_budget_without_noise() -> None:
    cfg = RunConfig(method="splitnn")
    assert budget_of(cfg, rows_of(cfg, ROWS)) is None


def test_a_target_finds_the_noise_for_the_plan() -> None:
    found = budget(dp_sigma=0.0, target_epsilon=8.0)
    assert found.allows(found.planned)
    assert 7.9 < found.epsilon(found.planned) <= 8
    assert not found.allows(found.planned + found.planned)


def test_a_target_counts_training_alone_where_evaluations_are_clear() -> None:
    found = budget(dp_sigma=0.0, target_epsilon=8.0, dp_eval="clear")
    assert found.allows(found.planned + Counts(evaluation=10**6))
    assert 7.9 < found.cost(found.planned["training"]) <= 8
    assert found.epsilon(found.planned) == math.inf
    assert found.epsilon(Counts(training=3)) < math.inf


def test_without_a_target_anything_may_be_sent() -> None:
    assert budget().allows(Counts(training=10**9))


def test_the_worst_party_makes_the_runs_epsilon() -> None:
    found = budget()
    sent = {"party-1": Counts(training=5, evaluation=2), "party-2": Counts(training=6)}
    report = found.report(sent)
    assert report["epsilon"] == epsilon_of(2.0, 7, DELTA, "rdp")
    assert report["epsilon_training"] == epsilon_of(2.0, 6, DELTA, "rdp")
    assert report["uploads"]["party-2"] == {"training": 6}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"dp_sigma": 0.0, "target_epsilon": 0.01}, "needs dp-sigma .* more than 1000"),
        ({"target_epsilon": 0.1}, "allows 0 noised uploads with dp-sigma 2, .* take 2"),
        ({"target_epsilon": 3.5, "eval_every": 1}, "allows 2 noised uploads .* take 3"),
        ({"target_epsilon": 3.5, "batch_size": 1294}, "allows 2 noised uploads .* take 3"),
        ({"method": "agg_vfl", "dp_clip": 1e5}, "noise of deviation 200000 .* smaller dp-clip"),
    ],
)
def test_a_budget_that_cannot_be_is_an_error(changes: dict[str, float | str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        budget(**changes)


@pytest.mark.parametrize("method", [name for name, m in METHODS.items() if not m.noises])
@pytest.mark.parametrize("option", ["dp_sigma", "target_epsilon"])
def test_a_method_that_cannot_noise_names_those_that_can(method: str, option: str) -> None:
    with pytest.raises(ConfigError, match=f"{method}'s passive parties .* splitnn, .*agg_vfl"):
        RunConfig.from_mapping({"method": method, option.replace("_", "-"): 1.0})


def test_a_target_that_allows_one_step_is_accepted() -> None:
    assert budget(target_epsilon=3.5).most == 2
    assert budget(target_epsilon=3.5, eval_every=1, epochs=0).planned == Counts(evaluation=1)


def test_knobs_of_noise_without_noise_are_an_error() -> None:
    with pytest.raises(ConfigError, match=r"^dp-clip and dp-eval would change nothing"):
        RunConfig(method="splitnn", dp_clip=2.0, dp_eval="clear")
