"""Weight of evidence of bins, and scorecards at each party."""

import math
import stat
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import vfl_flower as vfl
from tests.helpers.own_data.linear import PARTIES, lines, train
from vfl_flower.common.errors import ConfigError, VflError
from vfl_flower.config.run_config import RunConfig

ROWS, BINS = 200, 4
DRAW = np.random.default_rng(1)
X = DRAW.normal(3, 2, size=(5, ROWS)).round(2)
BAD = DRAW.random(ROWS) < 1 / (1 + np.exp(-(X[0] - 3) + (X[1] - 3) ** 2 / 4))


def scored(x: Any, **options: Any) -> vfl.Run:
    return train(x, np.where(BAD, "yes", "no"), **{"evidence_bins": BINS} | options)


@cache
def trained(scorecard: str = "600:50:20") -> vfl.Run:
    return scored(X, scorecard=scorecard)


def evidence(x: Any, bad: Any = BAD) -> Any:
    """Return the weight of evidence of every value, by its definition."""
    edges = np.unique(np.quantile(x, np.arange(1, BINS) / BINS, method="lower"))
    places, weights = np.searchsorted(edges, x), np.empty(len(x))
    for place in np.unique(places):
        inside = places == place
        odds = (bad[inside].sum() + 0.5) / ((~bad)[inside].sum() + 0.5)
        weights[inside] = math.log(odds / ((bad.sum() + 0.5) / ((~bad).sum() + 0.5)))
    return weights


def reference() -> tuple[LogisticRegression, Any]:
    columns = np.stack([evidence(x) for x in X], 1)
    model = LogisticRegression(solver="newton-cholesky", tol=1e-12)
    return model.fit(columns, BAD), columns


def test_coefficients_are_those_of_pooled_evidence() -> None:
    run, (theirs, _) = trained(), reference()
    assert run.result["ended_by"] == "converged"
    told = {line["column"]: float(line["coefficient"]) for line in lines(run, "coefficients.csv")}
    ours = [told[f"x{n}"] for n in range(5)]
    assert np.abs(ours - theirs.coef_[0]).max() < 1e-4
    assert told["(intercept)"] == pytest.approx(theirs.intercept_[0], abs=1e-4)


def points_of(card: list[dict[str, str]], row: int) -> float:
    """Add up a row's points, as a person with all cards would."""
    total = 0.0
    for line in card:
        if line["column"] == "(intercept)":
            total += float(line["points"])
            continue
        value = X[int(line["column"][1:]), row]
        above, up_to = float(line["above"] or "-inf"), float(line["up to"] or "inf")
        total += float(line["points"]) * (above + 1e-4 < value <= up_to + 1e-4)
    return total


@pytest.mark.parametrize("scale", ["600:50:20", "500:1:40"])
def test_points_add_up_to_the_log_odds_of_the_model(scale: str) -> None:
    points, odds, double = (float(each) for each in scale.split(":"))
    card, (theirs, columns) = lines(trained(scale), "scorecard.csv"), reference()
    against = -theirs.decision_function(columns)
    for row in range(0, ROWS, 17):
        score = points + double * (against[row] - math.log(odds)) / math.log(2)
        assert points_of(card, row) == pytest.approx(score, abs=0.05)


def test_a_party_has_its_own_scorecard_only() -> None:
    run = trained()
    columns = {party: set[str]() for party in PARTIES}
    for line in lines(run, "scorecard.csv"):
        columns[line["party"]].add(line["column"])
    assert columns["active"] == {"x0", "x3", "(intercept)"}
    assert columns["party-1"] == {"x1", "x4"}
    path = run.path / "party-1/model/scorecard.csv"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_predictions_bin_new_values_alike() -> None:
    said = trained().predict(rows="all").set_index("id")
    theirs, columns = reference()
    ours = said.loc[[f"r{n}" for n in range(ROWS)], "probability_yes"].to_numpy()
    assert np.abs(ours - theirs.predict_proba(columns)[:, 1]).max() < 1e-4


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"evidence_bins": 1}, "tells no two values apart"),
        ({"scorecard": "500:1:40"}, "set evidence-bins"),
        ({"evidence_bins": 4, "scorecard": "600"}, "three numbers|points, odds"),
        ({"evidence_bins": 4, "scorecard": "600:0:20"}, "points, odds"),
    ],
    ids=str,
)
def test_scales_without_a_meaning_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        RunConfig(method="logistic", **options)


def test_evidence_is_of_two_classes() -> None:
    with pytest.raises(VflError, match="weight of evidence is of two classes"):
        vfl.train("wine", method="logistic", evidence_bins=4, parties=3)


# Input that bins can fail on ---------------------------------------------------------------------


def test_rows_without_weight_are_not_counted() -> None:
    counted = np.arange(ROWS) % 3 > 0
    run = scored(X, weights=counted.astype(float), largest_weight=1.6)
    said = {float(line["evidence"]) for line in lines(run, "scorecard.csv") if line["evidence"]}
    expected = {each for x in X for each in evidence(x[counted], BAD[counted])}
    assert np.allclose(sorted(said), sorted(expected))


def test_columns_with_few_values_have_few_bins() -> None:
    """One of a constant column, whose evidence is none."""
    run = scored([np.full(ROWS, 7.0), X[1] > 3, *X[2:]])
    card = lines(run, "scorecard.csv")
    constant = [line for line in card if line["column"] == "x0"]
    assert [(line["above"], line["up to"]) for line in constant] == [("", "7.0"), ("7.0", "")]
    assert all(float(line["evidence"]) == float(line["points"]) == 0 for line in constant)
    told = {line["column"]: line for line in lines(run, "coefficients.csv")}
    assert float(told["x0"]["coefficient"]) == 0
    assert len([line for line in card if line["column"] == "x2"]) == BINS


def test_more_bins_than_rows_are_refused() -> None:
    with pytest.raises(VflError, match=rf"evidence-bins is 300, more than the {ROWS} training"):
        scored(X, evidence_bins=300)
