"""Estimators: columns of parties, categories, gaps, seeds, pickles."""

import pickle
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import vfl_flower as vfl
from tests.helpers.outcomes.pages import blocks, page
from vfl_flower.common.errors import VflError
from vfl_flower.protocol.observer import Observer

QUICK: dict[str, Any] = {"epochs": 3, "batch_size": 16, "learning_rate": 0.02, "random_state": 0}
ROWS = 90
NAMED = {"grade": "label"}
"""A name that a column of a passive party's own table could not have."""


def made() -> tuple[pd.DataFrame, "pd.Series[str]"]:
    """Make a table of numbers, categories and gaps."""
    draw = np.random.default_rng(0)
    x = pd.DataFrame({"age": draw.normal(size=ROWS), "spent": draw.normal(size=ROWS)})
    x["branch"] = draw.choice(["north", "south"], ROWS)
    x["grade"] = pd.Categorical(draw.integers(3, size=ROWS))
    tells = x["age"] + x["spent"] + 2 * (x["branch"] == "north") - 1
    x.loc[5, "age"], x.loc[6, "branch"] = np.nan, None
    return x, tells.gt(0).map({True: "yes", False: "no"})


@pytest.fixture(scope="module")
def fitted() -> vfl.VFLClassifier:
    """Fit once; no test changes it."""
    x, y = made()
    holders: list[list[str | int]] = [["age"], ["spent", "branch", 3]]
    return vfl.VFLClassifier(holders, **QUICK | {"epochs": 10}).fit(x.rename(columns=NAMED), y)


def test_each_party_has_its_columns(fitted: vfl.VFLClassifier) -> None:
    active, passive = (
        (fitted.run_.path / party / "model" / "encoder.json").read_text()
        for party in ("active", "party-1")
    )
    assert '"0 age"' in active and "spent" not in active and "label" not in active
    assert '"1 spent"' in passive and "north" in passive and '"3 label"' in passive


def test_all_rows_train_and_none_is_judged(fitted: vfl.VFLClassifier) -> None:
    assert fitted.run_.metrics == {} and fitted.n_iter_ == 10
    assert f"{ROWS:,} rows" in (fitted.run_.path / "active" / "model" / "card.md").read_text()
    with pytest.raises(vfl.VflError, match="held no such rows out"):
        fitted.run_.predict()


def test_text_and_gaps_are_learnt_from(fitted: vfl.VFLClassifier) -> None:
    x, y = made()
    x = x.rename(columns=NAMED)
    assert list(fitted.classes_) == ["no", "yes"]
    assert fitted.score(x, y) > 0.85
    flipped = x.assign(branch=x["branch"].map({"north": "south", "south": "north"}))
    assert fitted.score(flipped, y) < fitted.score(x, y)
    unknown = fitted.predict_proba(x.assign(branch="west"))
    np.testing.assert_allclose(unknown.sum(1), 1)


def test_a_pickle_predicts_and_has_no_rows(fitted: vfl.VFLClassifier) -> None:
    x, _ = made()
    x = x.rename(columns=NAMED)
    kept = pickle.dumps(fitted)
    assert b"PAR1" not in kept and b"checkpoint-0" not in kept  # PAR1 begins a file of Parquet
    again = pickle.loads(kept)  # noqa: S301  the user's own
    np.testing.assert_array_equal(again.predict_proba(x), fitted.predict_proba(x))
    assert again.run_.path != fitted.run_.path
    assert again.run_.path.stat().st_mode & 0o077 == 0
    assert len(again.run_.history) == 10


def test_a_pickle_holds_no_noised_labels() -> None:
    x, y = made()
    noised = {"label_privacy": "randomized-response"}
    fitted = vfl.VFLClassifier(**QUICK | {"options": noised}).fit(x, y)
    assert (fitted.run_.path / "active/noised-labels.safetensors").is_file()
    assert not any("noised" in name for name in fitted.__getstate__()["run_"])


def test_a_threshold_decides() -> None:
    x, y = made()
    options = {"threshold": "0.9"}
    careful = vfl.VFLClassifier([["age"], ["spent", "branch"]], **QUICK, options=options)
    x = x.drop(columns="grade")
    positive = careful.fit(x, y).run_.result["positive"]
    likely = careful.predict_proba(x)[:, int(positive)] >= 0.9
    assert 0 < likely.sum() < ROWS
    rarer = careful.classes_[int(positive)]
    assert ((careful.predict(x) == rarer) == likely).all()


@pytest.mark.parametrize("name", ["../escaped", "/tmp/escaped", "active/model/../../x", "evil.py"])  # noqa: S108
def test_a_state_writes_no_other_file(fitted: vfl.VFLClassifier, name: str) -> None:
    state = fitted.__getstate__()
    state["run_"][name] = b"x"
    with pytest.raises(VflError, match="no file of a packed run"):
        vfl.VFLClassifier().__setstate__(state)


def test_uploads_that_a_copy_would_count_apart_are_refused() -> None:
    with pytest.raises(ValueError, match="client-level privacy"):
        vfl.VFLClassifier(**QUICK | {"options": {"target_epsilon": 8.0}}).fit(*made())


@pytest.mark.slow
def test_random_state_decides() -> None:
    draw = np.random.default_rng(1)
    x, y = draw.normal(size=(40, 3)), draw.normal(size=40)

    def predicted(state: Any) -> bytes:
        return vfl.VFLRegressor(**QUICK | {"random_state": state}).fit(x, y).predict(x).tobytes()

    assert predicted(1) == predicted(1) != predicted(2)
    assert predicted(np.random.RandomState(1)) == predicted(np.random.RandomState(1))


def test_the_best_weights_are_chosen_on_rows_that_do_not_train() -> None:
    x, y = made()
    best = vfl.VFLClassifier(**QUICK, keep="best").fit(x, y)
    assert "validation_accuracy active" in best.run_.history
    assert len(best.run_.predict(rows="validation")) == 9


def test_a_party_may_have_labels_only_and_all_options_are_there() -> None:
    x, y = made()
    options = {"class_weights": "balanced", "embedding_dim": 8}
    three = vfl.VFLClassifier([[], [0, 1], [2, -1]], **QUICK, options=options).fit(x, y)
    cfg = three.run_.config
    assert (cfg.parties, cfg.active_columns, cfg.embedding_dim) == (3, "none", 8)
    assert set(three.predict(x)) <= {"no", "yes"}


@pytest.mark.parametrize("method", ["logistic", "boosted_trees"])
def test_methods_that_take_all_rows_have_no_batch_size(method: str) -> None:
    x, y = made()
    options = {"blinding": "none"} if method == "logistic" else {}
    found = vfl.VFLClassifier(method=method, epochs=10, random_state=0, options=options).fit(x, y)
    assert found.score(x, y) > 0.85


def test_sample_weights_act_and_set_the_largest_one() -> None:
    x, y = made()
    weights = np.where(np.arange(ROWS) % 3, 1.0, 4.0)
    plain, even, uneven = (
        vfl.VFLClassifier(**QUICK, keep="best").fit(x, y, sample_weight=each)
        for each in (None, np.full(ROWS, 2), weights)
    )
    assert np.array_equal(plain.predict_proba(x), even.predict_proba(x))
    assert not np.array_equal(plain.predict_proba(x), uneven.predict_proba(x))
    assert 2 < uneven.run_.config.largest_weight < 2.5
    for wrong in (-weights, np.zeros(ROWS), weights[1:]):
        with pytest.raises(ValueError, match=r"(?i)sample.weight"):
            vfl.VFLClassifier(**QUICK).fit(x, y, sample_weight=wrong)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"columns": 1}, "two parties at least"),
        ({"columns": [["age"]]}, "a list for each of two parties"),
        ({"columns": [["age"], []]}, "a list for each of two parties"),
        ({"columns": ["age", "spent"]}, "a list with a list"),
        ({"columns": [["age"], ["spend"]]}, "no column 'spend'"),
        ({"columns": [["age"], [4]]}, "no column 4 in X, which has 4"),
        ({"columns": [["age", 0], [1]]}, "twice at one party"),
        ({"options": {"epochs": 3}}, "options has epochs"),
        ({"options": {"test_share": 0.2}}, "options has test_share"),
    ],
)
def test_wrong_parameters_are_refused(given: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        vfl.VFLClassifier(**QUICK | given).fit(*made())


def test_wrong_data_are_refused(fitted: vfl.VFLClassifier) -> None:
    x, y = made()
    with pytest.raises(ValueError, match="type datetime64"):
        vfl.VFLClassifier(**QUICK).fit(x.assign(day=pd.Timestamp("2020-01-01")), y)
    with pytest.raises(ValueError, match="one class only"):
        vfl.VFLClassifier(**QUICK).fit(x, ["yes"] * ROWS)
    with pytest.raises(vfl.VflError, match="unknown option 'epoch'"):
        vfl.VFLClassifier(**QUICK, options={"epoch": 3}).fit(x, y)
    with pytest.raises(NotFittedError):
        clone(fitted).predict(x)


def test_ctrl_c_ends_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(self: Observer, step: int, losses: list[float]) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("vfl_flower.runs.metrics_file.MetricsFile.on_step", stop)
    search = GridSearchCV(vfl.VFLClassifier(**QUICK), {"epochs": [1, 2]}, cv=2)
    with pytest.raises(KeyboardInterrupt):
        search.fit(*made())


@pytest.mark.slow
def test_searches_and_pipelines_work() -> None:
    x, y = made()
    pipeline = make_pipeline(MinMaxScaler(), vfl.VFLClassifier(**QUICK))
    grid = {"vflclassifier__epochs": [0, 4], "vflclassifier__options": [{"embedding_dim": 4}]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise")
    search.fit(x[["age", "spent"]].fillna(0), y)
    assert search.best_params_["vflclassifier__epochs"] == 4


@pytest.mark.slow
def test_the_page_of_estimators_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (shown,) = blocks(page("estimators"), "python")
    names: dict[str, Any] = {}
    exec(shown, names)  # noqa: S102  our own page
    assert names["search"].score(names["X_test"], names["y_test"]) > 0.85
    assert "party-1" in capsys.readouterr().out
