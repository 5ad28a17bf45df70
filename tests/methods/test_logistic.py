"""The vertical GLM equals scikit-learn's, coefficient by coefficient."""

import re
import stat
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression, Ridge

from strategies.logistic import Logistic
from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.stages import score_of, stage_of
from tests.helpers.own_data.linear import NOISY, X, coefficients, told, train, z
from vfl_flower.common.errors import (
    Interrupted,
)
from vfl_flower.config.run_config import RunConfig
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


def joined(parties: list[Any]) -> Any:
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
    assert active.own_end == "converged"
    ours = joined(parties if cfg.holders == cfg.parties else parties[1:])
    assert np.abs(ours - theirs.coef_.T).max() < TOLERANCE
    apart = active.solver.intercept.numpy() - theirs.intercept_
    if len(apart) > 1:  # all intercepts may grow alike
        apart -= apart.mean()
    assert np.abs(apart).max() < TOLERANCE
    assert np.array_equal(ours == 0, theirs.coef_.T == 0)


def test_lasso_leaves_columns_out() -> None:
    ours = joined(solved(CANCER.changed(ridge=0.5, lasso=1.0)))
    assert 0.2 < (ours == 0).mean() < 0.8


def test_the_sum_of_losses_never_grows() -> None:
    """Whatever the exchange at which training is cut off."""
    active = solved(CANCER)[0]
    losses = [each.train_loss["active"] for each in active.progress.records]
    assert len(losses) == active.progress.step < 60
    assert losses[0] == pytest.approx(0.66, abs=0.02)
    assert losses[-1] < 0.06


def test_training_that_ends_too_early_says_so(caplog: pytest.LogCaptureFixture) -> None:
    active = solved(replace(CANCER, epochs=5))[0]
    assert not active.own_end
    figures = active.figures()
    assert figures["converged"] == 0
    assert figures["coefficient_error"] > TOLERANCE
    assert re.search(r"have not converged to 0.0001 \(they may be .* off\): use more", caplog.text)


def test_an_end_by_rounding_is_not_called_convergence(caplog: pytest.LogCaptureFixture) -> None:
    run = train(X, NOISY > 0, tolerance=1e-9)
    assert run.result["ended_by"] == "rounding"
    assert run.result["figures"]["converged"] == 0
    assert 1e-9 < run.result["figures"]["coefficient_error"] < 1e-6
    assert "rounding to 24 bits ended all progress" in caplog.text


def test_numbers_are_fitted_as_ridge_regression_does() -> None:
    run = train(X, NOISY, ridge=2.0)
    assert run.result["ended_by"] == "converged"
    theirs = Ridge(alpha=2.0).fit(np.stack([z(x) for x in X], 1), z(NOISY)).coef_
    assert np.abs(coefficients(run, 6) - theirs).max() < TOLERANCE


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


@pytest.mark.slow
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


@pytest.mark.parametrize("dataset", ["breast-cancer", "wine"])
def test_residuals_tell_every_label(dataset: str) -> None:
    """To every passive party, as Learns states."""
    stage = stage_of("logistic", dataset=dataset, batch_size=128)
    assert score_of("read-off", stage).value == 1


def test_directions_tell_the_columns_up_to_a_rotation() -> None:
    """To the active party, of all passive parties together, as Learns states."""
    parties = solved(CANCER)
    active, rows = parties[0], torch.from_numpy(parties[0].rows["train"])
    kept, solver = active.block.kept, active.solver
    own = torch.stack([active.x[rows].double() @ each for each in kept])
    predictors = (solver.along.double() - own)[:, :, 0].T
    products = solver.products - torch.tensordot(kept, kept, ([1, 2], [1, 2]))
    unit = products.diagonal().rsqrt()
    inverse = torch.linalg.pinv(unit[:, None] * products * unit, hermitian=True, rtol=1e-8)
    found = predictors * unit @ inverse @ (predictors * unit).T
    columns = torch.cat([party.x[rows].double() for party in parties[1:]], 1)
    inner = columns @ columns.T
    assert float((found - inner).norm() / inner.norm()) < 1e-4
