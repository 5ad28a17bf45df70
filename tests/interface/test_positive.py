"""The positive class of two: stated, or the rarer one."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score, f1_score, recall_score

import vfl_flower as vfl
from vfl_flower.cli.main import run as command
from vfl_flower.common.errors import ConfigError, DataError
from vfl_flower.reporting.console.lines import voices

ROWS, EVERY = 400, 10
QUICK: dict[str, Any] = {"method": "splitnn", "epochs": 2, "batch_size": 64, "baselines": "off"}
Bank = partial(vfl.Table, id="customer", label="kind")


def frame(seed: int = 0) -> pd.DataFrame:
    """Make payments; one in ten is a fraud, of a larger sum."""
    draw, fraud = np.random.default_rng(seed), np.arange(ROWS) % EVERY == 0
    table = pd.DataFrame({"customer": np.arange(ROWS), "sum": draw.normal(size=ROWS) + fraud})
    table["kind"] = np.where(fraud, "fraud", "ok")
    return table


def shop() -> vfl.Table:
    """Return the other party's table."""
    draw = np.random.default_rng(1)
    return vfl.Table({"customer": np.arange(ROWS), "visits": draw.normal(size=ROWS)}, id="customer")


@pytest.fixture(scope="module")
def run() -> vfl.Run:
    """Train once on labels of which nothing is said."""
    return vfl.train([Bank(frame()), shop()], **QUICK)


def test_metrics_are_those_of_the_rarer_class(run: vfl.Run) -> None:
    said = run.predict().merge(frame().rename(columns={"customer": "id"}), on="id")
    fraud, found = said["kind"] == "fraud", said["prediction"] == "fraud"
    metrics = run.metrics["active"]
    assert metrics["f1"] == pytest.approx(f1_score(fraud, found, zero_division=0))
    assert metrics["f1"] < 0.9 < metrics["accuracy"] + 0.1
    assert metrics["recall"] == pytest.approx(recall_score(fraud, found))
    likely = said["probability_fraud"]
    assert metrics["average_precision"] == pytest.approx(average_precision_score(fraud, likely))


def test_a_result_says_which_class_is_positive(
    run: vfl.Run, capsys: pytest.CaptureFixture[str]
) -> None:
    told = "positive class: fraud (the rarer of two; set positive to choose)"
    assert (run.result["positive"], run.result["classes"]) == ("fraud", ["fraud", "ok"])
    assert told in (run.path / "active" / "model" / "card.md").read_text()
    assert command(["train", "--resume", str(run.path)]) == 0
    assert told in capsys.readouterr().out
    with voices(0):  # as commands follow a run
        vfl.train([Bank(frame()), shop()], **QUICK | {"epochs": 0})
    assert f"active: {told}" in capsys.readouterr().out


def test_a_stated_class_is_positive_and_weights_stay(run: vfl.Run) -> None:
    stated = vfl.train([Bank(frame(), positive="ok"), shop()], **QUICK)
    assert stated.result["positive"] == "ok"
    assert stated.metrics["active"]["f1"] > 0.9
    assert stated.metrics["active"]["confusion"] == run.metrics["active"]["confusion"]
    weights = Path("party-1", "model", "weights.safetensors")
    assert (stated.path / weights).read_bytes() == (run.path / weights).read_bytes()


@pytest.mark.parametrize(
    ("stated", "fraud", "other", "positive"),
    [(True, False, True, "true"), (1, 1.5, 1.0, "1"), ("1", 1, 2, "1"), (None, 2, 1, "2")],
)
def test_positive_is_read_as_the_labels_are(
    stated: Any,
    fraud: float,
    other: float,
    positive: str,
) -> None:
    table = frame()
    table["kind"] = np.where(table["kind"] == "fraud", fraud, other)
    run = vfl.train([Bank(table, positive=stated), shop()], **QUICK | {"epochs": 0})
    assert run.result["positive"] == positive


@pytest.mark.parametrize(
    ("positive", "labels", "told"),
    [
        ("froud", ["fraud", "ok"], "active: positive must be fraud or ok"),
        ("a", ["a", "b", "c"], "positive is one of two classes, and the labels have 3 classes"),
        ("1", [0.5, 1.5, 2.5], "positive is one of two classes, and the labels have no classes"),
    ],
)
def test_a_class_that_is_none_of_two_is_refused(
    positive: str, labels: Any, told: str, tmp_path: Path
) -> None:
    table = frame().assign(kind=np.resize(labels, ROWS))
    with pytest.raises(DataError, match=told):
        vfl.train([Bank(table, positive=positive), shop()], **QUICK, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_positive_class_needs_a_label() -> None:
    with pytest.raises(ConfigError, match="positive is a class of the label"):
        vfl.Table(frame(), id="customer", positive="fraud")
