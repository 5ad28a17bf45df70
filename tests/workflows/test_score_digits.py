"""Probabilities in files of predictions, rounded."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

import vfl_flower as vfl
from tests.helpers.outcomes.attempts import Attempt
from vfl_flower.analysis.audit.protection import protections_of, unprotected
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.catalog import BINARY, MULTI_LABEL, REGRESSION
from vfl_flower.config.policy.run_options import taken_from
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.validation.evaluation import check_decides
from vfl_flower.privacy.guarantees import column_protections

CFG = RunConfig(
    method="splitnn", models="mlp", parties=2, epochs=5, dataset="wine", batch_size=20
).changed(baselines="off", score_digits=1)


def test_files_have_so_many_decimals_and_classes_of_exact_scores(tmp_path: Path) -> None:
    told = {}
    for digits in (0, 1):
        Attempt(CFG.changed(score_digits=digits), tmp_path / f"{digits}").run()
        told[digits] = vfl.load(tmp_path / f"{digits}").predict(rows="all")
    exact, rounded = told[0], told[1]
    assert exact["prediction"].equals(rounded["prediction"])
    names = [name for name in exact if name.startswith("probability_")]
    assert len(names) == 3
    assert np.array_equal(rounded[names], exact[names].to_numpy().round(1))
    assert not np.array_equal(rounded[names], exact[names])


@pytest.mark.slow
def test_estimators_round_what_they_have_decoded() -> None:
    X, y = load_digits(return_X_y=True)
    options = {"label_encoding": "confusional:1", "score_digits": 2}
    made = vfl.VFLClassifier(2, epochs=10, random_state=0, options=options).fit(X[:800], y[:800])
    shares = made.predict_proba(X[800:])
    assert (shares.argmax(1) == y[800:]).mean() > 0.85
    assert np.array_equal(shares, shares.round(2))
    assert shares.max(1).mean() > 0.6


def test_numbers_are_no_scores() -> None:
    for task in (BINARY, MULTI_LABEL):
        check_decides(CFG, task)
    with pytest.raises(ConfigError, match=r"^score-digits is 1, .* the labels are numbers"):
        check_decides(CFG, REGRESSION)
    check_decides(replace(CFG, score_digits=0), REGRESSION)


def test_protections_say_whom_it_binds() -> None:
    protected, open_ends = column_protections(CFG)
    (told,) = [each for each in open_ends if "decimals: 1" in each]
    assert "no guarantee" in told and "nothing from the active party" in told
    assert not [each for each in protected if "decimals" in each]
    assert "rounded scores (decimals: 1)" in protections_of(CFG)
    assert not protections_of(unprotected(CFG))


def test_passive_parties_are_not_asked() -> None:
    assert "score-digits" not in taken_from(CFG.to_mapping())
