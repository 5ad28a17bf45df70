"""A path of penalties, and the best on validation rows."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from tests.helpers.outcomes.attempts import Attempt
from vfl_flower.common.errors import ConfigError, Interrupted
from vfl_flower.config.run_config import RunConfig
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

RIDGE = (1.0, 0.0, (100.0, 3.0, 0.3, 0.003))
ELASTIC_NET = (0.5, 0.5, (100.0, 10.0, 1.0))
Penalties = tuple[float, float, tuple[float, ...]]


def path(ridge: float, lasso: float, strengths: tuple[float, ...]) -> RunConfig:
    return RunConfig(
        method="logistic",
        dataset="breast-cancer",
        parties=3,
        epochs=1000,
        baselines="off",
        keep="best",
        metric="log-loss",
        validation=0.3,
        ridge=ridge,
        lasso=lasso,
        penalty_path=",".join(f"{each:g}" for each in strengths),
    )


def solved(cfg: RunConfig) -> list[Any]:
    active = build_active(cfg)
    passive = [build_passive(cfg, rank) for rank in range(1, cfg.parties)]
    run_local(active, passive)
    return [active, *passive]


def pooled(parties: list[Any], part: str) -> tuple[Any, Any]:
    rows = torch.from_numpy(parties[0].rows[part])
    columns = [party.x[rows].flatten(1).double().numpy() for party in parties]
    return np.hstack(columns), parties[0].y[rows].numpy()


def fitted(parties: list[Any], penalties: Penalties) -> list[LogisticRegression]:
    """Fit scikit-learn's model to pooled columns, once for each strength."""
    ridge, lasso, strengths = penalties
    solver = {"solver": "saga", "l1_ratio": lasso / (ridge + lasso), "max_iter": 10**5}
    given: dict[str, Any] = solver if lasso else {"solver": "newton-cholesky"}
    columns, y = pooled(parties, "train")
    inverse = [1 / (each * (ridge + lasso)) for each in strengths]
    models = [LogisticRegression(C=c, tol=1e-9, random_state=0, **given) for c in inverse]
    return [model.fit(columns, y) for model in models]


@pytest.mark.slow
@pytest.mark.parametrize("penalties", [RIDGE, ELASTIC_NET], ids=["ridge", "elastic net"])
def test_the_best_strength_on_validation_rows_counts(penalties: Penalties) -> None:
    parties = solved(path(*penalties))
    models = fitted(parties, penalties)
    columns, y = pooled(parties, "validation")
    best = int(np.argmin([log_loss(y, each.predict_proba(columns)) for each in models]))
    active = parties[0]
    assert active.own_end == "converged"
    assert active.figures()["strength"] == penalties[2][best]
    assert active.figures()["coefficient_error"] <= 1e-4
    ours = np.vstack([party.block.W.numpy() for party in parties])
    assert np.abs(ours - models[best].coef_.T).max() < 1e-4
    assert np.array_equal(ours == 0, models[best].coef_.T == 0)
    intercept = active.net.decide.bias.detach().numpy()
    assert np.abs(intercept - models[best].intercept_).max() < 1e-4


@pytest.mark.slow
def test_strengths_begin_where_the_one_before_ended() -> None:
    """A path takes fewer exchanges than its strengths by themselves."""
    ridge, _, strengths = RIDGE
    cfg = path(*RIDGE)
    apart = [cfg.changed(penalty_path="", ridge=ridge * each) for each in strengths]
    alone = sum(solved(each)[0].progress.step for each in apart)
    assert solved(cfg)[0].progress.step < 0.9 * alone


@pytest.mark.slow
def test_a_stopped_path_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    cfg = path(1.0, 0.0, (100.0, 10.0))
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    Attempt(cfg, whole).run()
    with pytest.raises(Interrupted):
        Attempt(cfg, stopped).run(stop_at=14)
    Attempt(cfg, stopped).run()
    for party in ("active", "party-1", "party-2"):
        ours, theirs = (run / party / "model/coefficients.csv" for run in (stopped, whole))
        assert ours.read_bytes() == theirs.read_bytes()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"penalty_path": "10,1", "keep": "last"}, "set keep = best"),
        ({"penalty_path": "10,1", "ridge": 0.0}, "ridge and lasso are 0"),
        ({"penalty_path": "1,10"}, "each smaller than the one before"),
        ({"penalty_path": "10"}, "2 to 100 positive numbers"),
    ],
    ids=str,
)
def test_paths_without_a_meaning_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        RunConfig(method="logistic", **{"keep": "best"} | options)
