"""Standard errors and p-values are those of pooled columns."""

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer

import vfl_flower as vfl
from tests.helpers.own_data.linear import lines, told, train, z

ROWS = 400
DRAW = np.random.default_rng(5)
MADE = DRAW.normal(3, 2, (7, ROWS)).round(2)
MADE[6] += 3 * MADE[0] + MADE[1]  # columns of three parties, which depend on each other
NOISE = DRAW.logistic(size=ROWS)
YES = MADE[0] - 0.7 * MADE[1] - 1 + 2 * NOISE > 0
CANCER = load_breast_cancer()

TOLERANCE = 1e-4
"""Relative, of standard errors at coefficients that are 1e-6 off."""

TITLES = ("standard error", "p-value", "lower 95 %", "upper 95 %")


def inferred(x: Any, y: Any, **options: Any) -> vfl.Run:
    usual: dict[str, Any] = {"ridge": 0.0, "standard_errors": True, "tolerance": 1e-6}
    return train(x, y, **usual | options)


@cache
def made(blinding: str = "auto") -> vfl.Run:
    return inferred(MADE, YES, blinding=blinding)


def design(x: Any) -> Any:
    """Return pooled columns, standardised, and a constant before them."""
    return np.column_stack([np.ones(len(x[0])), *(z(each) for each in x)])


def maximum(A: Any, y: Any) -> tuple[Any, Any]:
    """Return maximum-likelihood coefficients and their errors, by Newton's method."""
    b = np.zeros(A.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-A @ b))
        information = A.T @ ((p * (1 - p))[:, None] * A)
        b = b + np.linalg.solve(information, A.T @ (y - p))
    return b, np.sqrt(np.linalg.inv(information).diagonal())


def numbers(run: vfl.Run, title: str, names: Any) -> Any:
    found = {line["column"]: line[title] for line in lines(run, "coefficients.csv")}
    return np.array([float(found[name]) for name in ("(intercept)", *names)])


def check(run: vfl.Run, b: Any, errors: Any, freedom: float = math.inf) -> None:
    """Compare a run's file with coefficients and errors, the intercept's first."""
    names = [f"x{n}" for n in range(len(b) - 1)]
    assert np.abs(numbers(run, "coefficient", names) - b).max() < TOLERANCE
    ours = numbers(run, "standard error", names)
    assert np.abs(ours / errors - 1).max() < TOLERANCE
    law = stats.t(freedom) if math.isfinite(freedom) else stats.norm()
    statistic = numbers(run, "z" if math.isinf(freedom) else "t", names)
    assert np.abs(statistic - b / errors).max() < 1e-2
    p = 2 * law.sf(np.abs(b / errors))
    assert np.abs(numbers(run, "p-value", names) - p).max() < TOLERANCE
    for title, side in (("lower 95 %", -1), ("upper 95 %", 1)):
        ends = b + side * law.ppf(0.975) * errors
        assert np.abs(numbers(run, title, names) - ends).max() < 2 * TOLERANCE
    assert run.result["figures"]["standard_errors"] == 1


@pytest.mark.parametrize("blinding", ["auto", "none"])
def test_errors_are_those_of_pooled_columns(blinding: str) -> None:
    check(made(blinding), *maximum(design(MADE), YES))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"embedding_bound": "256"}], ids=str)
def test_errors_on_breast_cancer(options: dict[str, Any]) -> None:
    """Correlations between parties are up to 0.7."""
    x, y = CANCER.data.T[[0, 1, 4, 5, 8, 9]], CANCER.target == 1
    check(inferred(x, y, **options), *maximum(design(x), y))


def test_errors_of_numbers_are_those_of_least_squares() -> None:
    y = MADE[0] - MADE[1] + 3 * NOISE
    A, target = design(MADE), z(y)
    b = np.linalg.lstsq(A, target)[0]
    freedom = ROWS - A.shape[1]
    variance = ((target - A @ b) ** 2).sum() / freedom
    errors = np.sqrt(variance * np.linalg.inv(A.T @ A).diagonal())
    check(inferred(MADE, y), b, errors, freedom)


def test_one_passive_party_needs_no_masks() -> None:
    held = {f"x{n}": MADE[n] for n in range(3)}
    ids = {"id": [f"r{n}" for n in range(ROWS)]}
    tables = [
        vfl.Table(ids | {"y": YES, "x0": MADE[0]}, id="id", label="y"),
        vfl.Table(ids | {name: held[name] for name in ("x1", "x2")}, id="id"),
    ]
    options: dict[str, Any] = {"test_share": 0, "validation": 0, "baselines": "off"}
    options |= {"ridge": 0.0, "standard_errors": True, "tolerance": 1e-6, "epochs": 100}
    run = vfl.train(tables, method="logistic", blinding="none", **options)
    file = (run.path / "party-1/model/coefficients.csv").read_text().splitlines()
    _, errors = maximum(design(MADE[:3]), YES)
    ours = [float(line.split(",")[6]) for line in file[1:]]
    assert np.abs(ours / errors[2:] - 1).max() < TOLERANCE


@pytest.mark.slow
def test_p_values_of_columns_without_a_say_are_uniform() -> None:
    draw = np.random.default_rng(11)
    x, y = draw.normal(size=(90, 1500)), draw.random(1500) < 0.4
    run = inferred(x, y, tolerance=1e-4)
    p = numbers(run, "p-value", [f"x{n}" for n in range(90)])[1:]
    assert stats.kstest(p, "uniform").pvalue > 0.05
    assert 0 < (p < 0.1).mean() < 0.2


def test_categories_are_compared_with_their_last_value() -> None:
    """Another column that one party's own determine has no error either."""
    kinds = DRAW.choice(["a", "b", "c"], ROWS)
    x = [*MADE[:3], kinds, MADE[1] * 2 + 1, np.full(ROWS, 4.0)]
    run = inferred(x, YES)
    A = np.column_stack([design(MADE[:3]), kinds == "a", kinds == "b"])
    b, errors = maximum(A, YES)
    found = told(run)
    for place, key in enumerate([("(intercept)", ""), ("x0", ""), ("x1", ""), ("x2", "")]):
        assert float(found[key]["coefficient"]) == pytest.approx(b[place], abs=TOLERANCE)
        assert float(found[key]["standard error"]) == pytest.approx(errors[place], rel=TOLERANCE)
    for place, value in enumerate("ab", 4):
        assert float(found["x3", value]["standard error"]) == pytest.approx(errors[place], rel=1e-4)
    for key in (("x3", "c"), ("x4", ""), ("x5", "")):
        assert float(found[key]["coefficient"]) == 0
        assert [found[key][title] for title in TITLES] == [""] * 4


def test_columns_that_two_parties_have_get_no_errors(caplog: pytest.LogCaptureFixture) -> None:
    run = inferred([*MADE[:5], MADE[1]], YES, tolerance=1e-4)
    assert run.result["ended_by"] == "converged"
    assert run.result["figures"]["standard_errors"] == 0
    assert "columns of different parties determine each other" in caplog.text
    for line in told(run).values():
        assert math.isfinite(float(line["coefficient"]))
        assert [line[title] for title in TITLES] == [""] * 4


def test_coefficients_that_have_not_converged_get_no_errors(
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = inferred(MADE, YES, epochs=3)
    assert run.result["figures"]["standard_errors"] == 0
    assert "there are no standard errors: they are those of the optimum" in caplog.text
    assert {line["p-value"] for line in told(run).values()} == {""}


@pytest.mark.slow
def test_errors_change_no_prediction() -> None:
    without = inferred(MADE, YES, standard_errors=False).predict(rows="all")
    said = made().predict(rows="all")
    names = [name for name in said.columns if name.startswith("probability_")]
    assert np.abs(said[names] - without[names]).to_numpy().max() < 1e-6


def test_evidence_of_bins_has_errors() -> None:
    run = inferred(MADE, YES, evidence_bins=4)
    found = told(run)
    assert all(float(found[f"x{n}", ""]["standard error"]) > 0 for n in range(7))
    assert (run.path / "party-1/model/scorecard.csv").is_file()
