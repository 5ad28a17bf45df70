"""Metric that decides, and threshold that validation rows choose."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score, recall_score

import vfl_flower as vfl
from tests.interface.test_positive import QUICK, Bank, frame, shop
from vfl_flower.cli.main import run as command
from vfl_flower.common.errors import ConfigError, DataError
from vfl_flower.reporting.console.format import ending

OPTIONS = QUICK | {"epochs": 4, "validation": 0.3, "learning_rates": "0.02"}


@cache
def trained(**options: str) -> vfl.Run:
    """Train on payments."""
    return vfl.train([Bank(frame()), shop()], **OPTIONS | options)


def truth_of(said: pd.DataFrame) -> Any:
    """Tell which of the predicted rows are frauds."""
    return frame()["kind"].eq("fraud").to_numpy()[said["id"]]


@pytest.mark.parametrize("rule", ["f1", "recall:0.9", "cost:10:1"])
def test_validation_rows_choose_the_threshold(
    rule: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = trained(threshold=rule, keep="best")
    value = run.result["threshold"]["values"]["active"]
    assert run.result["threshold"]["rule"] == rule
    assert run.result["threshold"]["step"] == run.result["counting_step"]
    said = run.predict(rows="validation")
    likely, fraud = said["probability_fraud"].to_numpy(), truth_of(said)
    assert ((said["prediction"] == "fraud") == (likely >= value)).all()
    others = [f1_score(fraud, likely >= each, zero_division=0) for each in np.linspace(0, 1, 50)]
    if rule == "f1":
        assert f1_score(fraud, likely >= value) >= max(others) - 1e-9
    if rule == "recall:0.9":
        above = likely[fraud & (likely >= value)].min()
        assert recall_score(fraud, likely >= value) >= 0.9 > recall_score(fraud, likely > above)
    kept = json.loads((run.path / "active" / "model" / "target.json").read_text())
    assert kept["threshold"] == value
    assert command(["inspect", str(run.path)]) == 0
    assert f"chosen on the validation rows by {rule}" in " ".join(capsys.readouterr().out.split())


def test_each_evaluation_is_judged_by_the_threshold_that_it_chose() -> None:
    run = trained(threshold="f1", metric="f1", keep="best")
    scores = run.history["validation_f1 active"]
    assert scores.iloc[0] > 0  # no row of a rare class has a probability above 0.5 so early
    said = run.predict(rows="validation")
    kept = f1_score(truth_of(said), said["prediction"] == "fraud")
    assert kept == pytest.approx(scores.max())


def test_a_tiny_threshold_is_told_with_its_digits() -> None:
    threshold = {"rule": "recall:0.9", "step": 3, "values": {"active": 2.51234e-12}}
    told = ending({"steps": 3, "counting_step": 3, "ended_by": "", "threshold": threshold})
    assert told[0].startswith("positive from a probability of 2.512e-12 on")


def test_the_threshold_predicts_test_rows_and_new_tables() -> None:
    run = trained(threshold="recall:0.9", keep="best")
    value = run.result["threshold"]["values"]["active"]
    test = run.predict()
    found = (test["prediction"] == "fraud").to_numpy()
    assert run.metrics["active"]["recall"] == pytest.approx(recall_score(truth_of(test), found))
    assert run.metrics["active"]["accuracy"] == pytest.approx((found == truth_of(test)).mean())
    new = run.predict([Bank(frame(1)), shop()])
    assert ((new["prediction"] == "fraud") == (new["probability_fraud"] >= value)).all()
    assert (new["prediction"] == "fraud").any() and value < 0.5


def test_a_threshold_asks_for_nothing_and_changes_no_weight() -> None:
    plain, chosen = trained(), trained(threshold="f1")
    assert plain.result["evaluation"]["exchanges"] == chosen.result["evaluation"]["exchanges"]
    weights = Path("active", "model", "weights.safetensors")
    assert (plain.path / weights).read_bytes() == (chosen.path / weights).read_bytes()
    assert plain.result["threshold"]["values"] == {"active": 0.5}
    assert "thresholds" not in (plain.path / "metrics.jsonl").read_text()


@pytest.mark.parametrize(
    ("metric", "best"), [("average-precision", max), ("log-loss", min), ("brier", min)]
)
def test_the_metric_chooses_the_weights(metric: str, best: Any) -> None:
    run = trained(metric=metric, keep="best", learning_rates="0.3")
    scores = run.history.set_index("step")[f"validation_{metric.replace('-', '_')} active"]
    assert len(set(scores)) > 1
    assert scores[run.result["counting_step"]] == best(scores)
    assert run.result["metric"] == metric.replace("-", "_")
    assert "validation_accuracy active" in run.history


def test_a_sweep_goes_by_the_metric() -> None:
    pytest.importorskip("optuna")
    over, options = {"lr": [0.001, 0.05]}, OPTIONS | {"metric": "log-loss", "epochs": 2}
    del options["learning_rates"]
    made = vfl.sweep([Bank(frame()), shop()], over=over, trials=2, **options)
    trials = made.trials.set_index("learning_rates")["validation_log_loss"]
    assert made.best_options["learning_rates"] == trials.idxmin()
    with pytest.raises(ConfigError, match="metric changes the validation rows, or the metric"):
        vfl.sweep([Bank(frame()), shop()], over={"metric": ["auc"]}, **OPTIONS)


@pytest.mark.parametrize(
    ("labels", "options", "told"),
    [
        ([0.5, 1.5, 2.5], {"metric": "f1"}, "metric is f1, and the labels are numbers"),
        (["a", "b"], {"metric": "r2"}, "metric is r2, and the labels are binary classes"),
        (["a", "b", "c"], {"metric": "brier"}, "use one of accuracy, balanced-accuracy"),
        (["a", "b", "c"], {"threshold": "f1"}, "threshold is f1, which is of two classes"),
    ],
)
def test_other_labels_are_refused_before_work(
    labels: Any,
    options: dict[str, str],
    told: str,
    tmp_path: Path,
) -> None:
    table = frame().assign(kind=np.resize(labels, len(frame())))
    with pytest.raises(ConfigError, match=told):
        vfl.train([Bank(table), shop()], **OPTIONS | options, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_data_set_of_more_classes_has_no_threshold() -> None:
    with pytest.raises(ConfigError, match="the labels are multi-class classes"):
        vfl.train("digits", threshold="f1", epochs=1)


def test_validation_rows_without_a_class_are_refused() -> None:
    few = frame().assign(kind=np.where(np.arange(400) < 6, "fraud", "ok"))
    options = OPTIONS | {"metric": "auc", "validation": 0.01}
    with pytest.raises(DataError, match="no validation row is of one of the classes"):
        vfl.train([Bank(few), shop()], **options)
