"""The vertical GLM equals scikit-learn's, coefficient by coefficient."""

import csv
import stat
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression, Ridge

import vfl_flower as vfl
from strategies.logistic import Logistic
from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.stages import score_of, stage_of
from vfl_flower.common.errors import (
    ConfigError,
    DataError,
    Interrupted,
    TrainingError,
    VflError,
)
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.splitting.rows import rows_of
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

CANCER = RunConfig(
    method="logistic", dataset="breast-cancer", parties=4, epochs=200, baselines="off"
)
WINE = replace(CANCER, dataset="wine", parties=3)

TOLERANCE = 1e-4


@cache
def solved(cfg: RunConfig) -> list[Any]:
    """Train, and return the parties."""
    active = build_active(cfg)
    passive = [build_passive(cfg, rank) for rank in range(1, cfg.parties)]
    run_local(active, passive)
    return [active, *passive]


def pooled(parties: list[Any]) -> tuple[Any, Any]:
    """Return all parties' columns of the training rows, and the labels."""
    rows = torch.from_numpy(parties[0].rows["train"])
    columns = [party.x[rows].flatten(1).double().numpy() for party in parties]
    return np.hstack(columns), parties[0].y[rows].numpy()


def coefficients(parties: list[Any]) -> Any:
    return np.vstack([party.block.W.numpy() for party in parties])


def reference(cfg: RunConfig, parties: list[Any]) -> LogisticRegression:
    """Fit scikit-learn's model to pooled columns, nearly exactly."""
    ridge, lasso = cfg.options.ridge, cfg.options.lasso  # type: ignore[attr-defined]
    total = ridge + lasso
    given: dict[str, Any] = {"solver": "newton-cg", "tol": 1e-12, "max_iter": 10**5}
    if lasso:
        given |= {"solver": "saga", "l1_ratio": lasso / total, "random_state": 0}
    return LogisticRegression(C=1 / total, **given).fit(*pooled(parties))


@pytest.mark.parametrize(
    "cfg",
    [
        CANCER,
        WINE,
        replace(CANCER, blinding="none"),
        replace(CANCER, active_columns="none"),
        replace(CANCER, embedding_bound="256"),
        CANCER.changed(ridge=0.1),
        WINE.changed(ridge=0.05),
        CANCER.changed(ridge=0.5, lasso=1.0),
        WINE.changed(ridge=0.5, lasso=2.0),
    ],
    ids=[
        "cancer",
        "wine",
        "clear",
        "labels",
        "bound",
        "loose",
        "loose wine",
        "lasso",
        "lasso wine",
    ],
)
def test_coefficients_are_those_of_pooled_columns(cfg: RunConfig) -> None:
    parties = solved(cfg)
    theirs = reference(cfg, parties)
    active = parties[0]
    assert isinstance(active, Logistic)
    assert active.converged
    ours = coefficients(parties if cfg.holders == cfg.parties else parties[1:])
    assert np.abs(ours - theirs.coef_.T).max() < TOLERANCE
    apart = active.solver.intercept.numpy() - theirs.intercept_
    if len(apart) > 1:  # all intercepts may grow alike
        apart -= apart.mean()
    assert np.abs(apart).max() < TOLERANCE
    assert np.array_equal(ours == 0, theirs.coef_.T == 0)


def test_lasso_leaves_columns_out() -> None:
    ours = coefficients(solved(CANCER.changed(ridge=0.5, lasso=1.0)))
    assert 0.2 < (ours == 0).mean() < 0.8


def test_the_sum_of_losses_never_grows() -> None:
    """Whatever the exchange at which training is cut off."""
    active = solved(CANCER)[0]
    losses = [each.train_loss["active"] for each in active.progress.records]
    assert len(losses) == active.progress.step < 60
    assert losses[0] == pytest.approx(0.66, abs=0.02)
    assert losses[-1] < 0.06


def test_training_that_ends_too_early_says_so() -> None:
    active = solved(replace(CANCER, epochs=5))[0]
    assert not active.converged
    figures = active.figures()
    assert figures["converged"] == 0
    assert figures["coefficient_error"] > TOLERANCE
    assert "have not converged to 0.0001" in active.solver.told_end(5)


def tables(x: Any, y: Any) -> list[vfl.Table]:
    """Give columns to three parties in turn, names and numbers."""
    held: list[dict[str, Any]] = [{"id": [f"r{n}" for n in range(len(y))]} for _ in range(3)]
    for number, column in enumerate(x):
        held[number % 3][f"x{number}"] = column
    bank = vfl.Table(held[0] | {"y": y}, id="id", label="y")
    return [bank, *(vfl.Table(each, id="id") for each in held[1:])]


def train(x: Any, y: Any, **options: Any) -> vfl.Run:
    usual: dict[str, Any] = {"epochs": 100, "baselines": "off", "test_share": 0, "validation": 0}
    return vfl.train(tables(x, y), method="logistic", **usual | options)


def told(run: vfl.Run) -> dict[tuple[str, str], dict[str, str]]:
    """Return the lines of all parties' tables, by column and value."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for party in ("active", "party-1", "party-2"):
        with (run.path / party / "model/coefficients.csv").open(newline="") as file:
            lines = [*csv.DictReader(file)]
        assert {line["party"] for line in lines} == {party}
        found |= {(line["column"], line["value"]): line for line in lines}
    return found


DRAW = np.random.default_rng(0)
X = DRAW.normal(3, 2, size=(6, 120))
SIGNAL = np.array([0.5, -1.0, 0.25, 0.0, 1.5, -0.5]) @ (X - 3)
NOISY = SIGNAL + DRAW.normal(size=120)


def z(values: Any) -> Any:
    return (values - values.mean()) / values.std()


def test_numbers_are_fitted_as_ridge_regression_does() -> None:
    run = train(X, NOISY, ridge=2.0)
    assert run.result["ended_by"] == "converged"
    theirs = Ridge(alpha=2.0).fit(np.stack([z(x) for x in X], 1), z(NOISY)).coef_
    ours = [float(told(run)[f"x{n}", ""]["coefficient"]) for n in range(6)]
    assert np.abs(ours - theirs).max() < TOLERANCE


def test_tables_of_coefficients_name_columns_and_stay_with_their_party() -> None:
    run = train([*X[:5], ["a", "b", "c"] * 40], ["yes" if v > 0 else "no" for v in NOISY])
    lines = told(run)
    assert {value for column, value in lines if column == "x5"} == {"a", "b", "c"}
    assert float(lines["x0", ""]["mean"]) == pytest.approx(X[0].mean(), abs=1e-5)
    assert lines["(intercept)", ""]["party"] == "active"
    assert lines["x1", ""]["party"] == "party-1"
    path = run.path / "party-1/model/coefficients.csv"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    elsewhere = [each for each in run.path.rglob("*") if each.is_file() and each != path]
    number = lines["x1", ""]["coefficient"].encode()
    assert number in path.read_bytes()
    assert not any(number in each.read_bytes() for each in elsewhere)


def test_a_stopped_run_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    """Checkpoints hold all that the search for a step depends on."""
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    Attempt(WINE, whole).run()
    with pytest.raises(Interrupted):
        Attempt(WINE, stopped).run(stop_at=9)
    Attempt(WINE, stopped).run()
    for party in ("active", "party-1", "party-2"):
        ours, theirs = (run / party / "model/coefficients.csv" for run in (stopped, whole))
        assert ours.read_bytes() == theirs.read_bytes()


def test_a_model_predicts_what_its_coefficients_say() -> None:
    run = train(X, np.where(NOISY > 0, "yes", "no"))
    said = run.predict(rows="all")
    columns = np.stack([z(x) for x in X], 1)
    theirs = LogisticRegression(solver="newton-cholesky", tol=1e-12).fit(columns, NOISY > 0)
    ours = said.set_index("id").loc[[f"r{n}" for n in range(120)], "probability_yes"].to_numpy()
    assert np.abs(ours - theirs.predict_proba(columns)[:, 1]).max() < TOLERANCE


# Input that a solver can fail on ----------------------------------------------------------------


@pytest.mark.parametrize("ridge", [0.0, 1.0])
def test_a_constant_column_has_no_coefficient(ridge: float) -> None:
    run = train([*X[:5], np.full(120, 7.0)], NOISY > 0, ridge=ridge)
    assert run.result["ended_by"] == "converged"
    assert float(told(run)["x5", ""]["coefficient"]) == 0


@pytest.mark.parametrize("twin", [3, 1], ids=["at one party", "at two parties"])
def test_a_column_twice_counts_half_each_time(twin: int) -> None:
    run = train([*X[:twin], X[0], *X[twin + 1 :]], NOISY > 0)
    assert run.result["ended_by"] == "converged"
    ours = [float(told(run)[f"x{n}", ""]["coefficient"]) for n in (0, twin)]
    assert ours[0] == pytest.approx(ours[1], abs=TOLERANCE)
    assert abs(ours[0]) > 0.1


def test_rounding_has_no_say_on_nearly_parallel_columns() -> None:
    """Directions of all parties are nearly parallel, too, and cancel where columns differ."""
    draw = np.random.default_rng(2)
    wander = np.cumsum(draw.normal(size=(15, 2000)), 0) * draw.lognormal(size=2000)
    x = draw.lognormal(size=2000) + 0.003 * wander
    labels = x[0] - x[4] + 0.2 * x[1] + draw.logistic(size=2000) > 1
    run = train(x, labels, ridge=0.1, tolerance=3e-5, epochs=300)
    figures = run.result["figures"]
    assert figures["converged"]
    assert figures["coefficient_error"] <= 3e-5
    theirs = LogisticRegression(C=10, solver="newton-cholesky", tol=1e-12)
    theirs.fit(np.stack([z(each) for each in x], 1), labels)
    ours = [float(told(run)[f"x{n}", ""]["coefficient"]) for n in range(15)]
    assert np.abs(ours - theirs.coef_[0]).max() < 3e-5


def test_separable_rows_need_a_penalty() -> None:
    with pytest.raises(TrainingError, match=r"separate the classes.*set ridge above 0"):
        train(X, SIGNAL > 0, ridge=0.0)
    assert train(X, SIGNAL > 0, ridge=0.1).result["ended_by"] == "converged"


def test_three_classes_that_are_separable_need_a_penalty() -> None:
    with pytest.raises(TrainingError, match="separate the classes"):
        train(X, np.digitize(X[0], [2, 4]).astype(str), ridge=0.0, epochs=1000)


def test_without_a_penalty_it_is_the_likelihoods_maximum() -> None:
    run = train(X, NOISY > 0, ridge=0.0)
    assert run.result["ended_by"] == "converged"
    columns = np.stack([z(x) for x in X], 1)
    theirs = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12)
    ours = [float(told(run)[f"x{n}", ""]["coefficient"]) for n in range(6)]
    assert np.abs(ours - theirs.fit(columns, NOISY > 0).coef_[0]).max() < TOLERANCE


def test_a_class_of_one_row() -> None:
    labels = np.where(NOISY > 0, "yes", "no")
    labels[0] = "perhaps"
    assert train(X, labels).result["ended_by"] == "converged"


def test_a_class_whose_one_row_is_held_out() -> None:
    labels = np.where(NOISY > 0, "yes", "no")
    held_out = rows_of(replace(CANCER, test_share=0.3, validation=0.0), 120)["test"][0]
    labels[held_out] = "perhaps"
    with pytest.raises(DataError, match="no training row"):
        train(X, labels, test_share=0.3)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_labels_that_are_not_finite(bad: float) -> None:
    with pytest.raises(VflError):
        train(X, np.where(np.arange(120) == 7, bad, NOISY))


# Options ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"optimizers": "sgd"}, "optimizers is sgd, and would change nothing"),
        ({"batch_size": 64}, "batch-size is 64, and would change nothing"),
        ({"learning_rates": "0.1"}, "learning-rates is 0.1, and would change nothing"),
        ({"label_privacy": "alibi"}, "under true labels"),
        ({"embedding_bound": "16"}, "too few digits"),
        ({"wire_precision": "float16"}, "too coarse"),
        ({"dp_sigma": 1.0}, "could be noised"),
        ({"gradient_defence": "isotropic:1"}, "other things than gradients"),
    ],
    ids=str,
)
def test_options_without_a_meaning_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        CANCER.changed(**options)


@pytest.mark.parametrize("dataset", ["breast-cancer", "wine"])
def test_residuals_tell_every_label(dataset: str) -> None:
    """To every passive party, as Learns states."""
    stage = stage_of("logistic", dataset=dataset, batch_size=128)
    assert score_of("read-off", stage).value == 1
