"""The vertical GLM on difficult input and options without a meaning."""

from typing import Any

import numpy as np
import pytest
from flwr.common import Scalar
from sklearn.linear_model import LogisticRegression

from tests.helpers.own_data.linear import NOISY, SIGNAL, X, coefficients, told, train, z
from vfl_flower.common.errors import ConfigError, DataError, TrainingError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.splitting.rows import rows_of
from vfl_flower.workflows.build_parties import build_passive


@pytest.mark.parametrize("ridge", [0.0, 1.0])
def test_a_constant_column_has_no_coefficient(ridge: float) -> None:
    run = train([*X[:5], np.full(120, 7.0)], NOISY > 0, ridge=ridge)
    assert run.result["ended_by"] == "converged"
    assert float(told(run)["x5", ""]["coefficient"]) == 0


@pytest.mark.parametrize("twin", [3, 1], ids=["at one party", "at two parties"])
def test_a_column_twice_counts_half_each_time(twin: int) -> None:
    run = train([*X[:twin], X[0], *X[twin + 1 :]], NOISY > 0)
    assert run.result["ended_by"] == "converged"
    ours = coefficients(run, 6)[[0, twin]]
    assert ours[0] == pytest.approx(ours[1], abs=1e-4)
    assert abs(ours[0]) > 0.1


@pytest.mark.slow
def test_rounding_has_no_say_on_nearly_parallel_columns() -> None:
    """Directions are nearly parallel, too, and cancel where columns differ."""
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
    assert np.abs(coefficients(run, 15) - theirs.coef_[0]).max() < 3e-5


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
    ours = coefficients(run, 6)
    assert np.abs(ours - theirs.fit(columns, NOISY > 0).coef_[0]).max() < 1e-4


def test_a_class_of_one_row() -> None:
    labels = np.where(NOISY > 0, "yes", "no")
    labels[0] = "perhaps"
    assert train(X, labels).result["ended_by"] == "converged"


def test_a_class_whose_one_row_is_held_out() -> None:
    labels = np.where(NOISY > 0, "yes", "no")
    held_out = rows_of(RunConfig(method="logistic", test_share=0.3, validation=0.0), 120)["test"][0]
    labels[held_out] = "perhaps"
    with pytest.raises(DataError, match="no training row"):
        train(X, labels, test_share=0.3)


def test_a_class_whose_one_row_weighs_nothing() -> None:
    labels, weights = np.where(NOISY > 0, "yes", "no"), np.ones(120)
    labels[7], weights[7] = "perhaps", 0
    with pytest.raises(DataError, match="no training row"):
        train(X, labels, weights, largest_weight=2.0)


@pytest.mark.parametrize(("bad", "text"), [(np.nan, "no label"), (np.inf, "infinity")])
def test_labels_that_are_not_finite(bad: float, text: str) -> None:
    with pytest.raises(DataError, match=text):
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
        RunConfig(method="logistic", **options)


def test_a_step_of_the_lasso_needs_its_weight() -> None:
    cfg = RunConfig(method="logistic", dataset="wine", parties=3, lasso=0.1, blinding="none")
    party = build_passive(cfg, 1)
    rows = party.data.rows["train"]
    arrays = [rows, np.array([1, 0, 0, 1], np.float32), np.zeros((len(rows), 3), np.float32)]
    config: dict[str, Scalar] = {"exchange": 1, "phases": "direct", "arrays": "3"}
    _, _, metrics = party.fit(arrays, config)
    assert metrics["error"] == "ProtocolError"
    assert "without the weight that it shrinks by" in str(metrics["message"])
