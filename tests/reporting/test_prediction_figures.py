"""Figures of predictions: kept curves, plots and the page."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import auc, roc_auc_score

import vfl_flower as vfl
from tests.helpers.outcomes.edits import values_of
from tests.helpers.outcomes.report_pages import read
from tests.interface.test_positive import QUICK, Bank, frame, shop
from vfl_flower.common.errors import ConfigError
from vfl_flower.data.preprocessing.target import Target
from vfl_flower.learning.metrics.curves import POINTS, curves_of
from vfl_flower.learning.metrics.predictions import Predictions

TITLES = ["ROC, AUC", "precision-recall, PR-AUC", "calibration, calibration error", "test rows"]


@pytest.fixture(scope="module")
def run() -> vfl.Run:
    """Train on frauds."""
    return vfl.train([Bank(frame()), shop()], **QUICK | {"threshold": "recall:0.8"})


def said(rows: int, classes: int = 2) -> Predictions:
    """Make predictions that are somewhat right."""
    y = torch.arange(rows) % classes
    noise = torch.randn(rows, classes, generator=torch.Generator().manual_seed(0))
    names = tuple(map(str, range(classes)))
    task = "binary" if classes == 2 else "multi-class"
    return Predictions(noise + torch.eye(classes)[y], y, Target(task, names))


def test_curves_are_thinned_and_keep_their_area() -> None:
    many = said(5000)
    curves = curves_of(many)
    assert all(len(each["x"]) == len(each["y"]) <= POINTS for each in curves.values())
    roc, pr = curves["roc"], curves["precision_recall"]
    assert auc(roc["x"], roc["y"]) == pytest.approx(
        roc_auc_score(many.hits, many.ranking), abs=0.01
    )
    assert (roc["x"][0], roc["y"][0], roc["x"][-1], roc["y"][-1]) == (0, 0, 1, 1)
    assert pr["x"] == sorted(pr["x"]) and (pr["x"][0], pr["x"][-1]) == (0, 1)
    assert sum(curves["calibration"]["rows"]) == 5000
    assert curves_of(said(30, classes=3)) == {}


def titles(figure: Any) -> list[str]:
    return [panel.get_title(loc="left") for panel in figure.axes]


def test_a_run_draws_its_test_rows(run: vfl.Run) -> None:
    figure = run.plot("test")
    assert all(map(str.startswith, titles(figure), TITLES))
    judged = run.metrics["active"]
    point = np.asarray(figure.axes[1].lines[-1].get_xydata(), float)
    assert point.ravel().tolist() == pytest.approx([judged["recall"], judged["precision"]])
    drawn = [text.get_text() for text in figure.axes[3].texts]
    assert drawn == [str(count) for row in judged["confusion"] for count in row]
    with pytest.raises(ConfigError, match="unknown part 'tests'"):
        run.plot("tests")


@pytest.mark.slow
def test_a_page_shows_them_without_data(run: vfl.Run, tmp_path: Path) -> None:
    page = read(run.report(tmp_path / "page.html"))
    assert "positive class: fraud (the rarer of two; set positive to choose)" in page.text
    assert "chosen on the validation rows by recall:0.8" in page.text
    for title, key in (("PR-AUC", "average_precision"), ("Brier score", "brier")):
        assert f"{title} {run.metrics['active'][key]:.4f}" in page.text
    assert "ROC, precision-recall and calibration curve, confusion" in page_source(tmp_path)


def page_source(folder: Path) -> str:
    return (folder / "page.html").read_text()


@pytest.mark.slow
def test_a_result_without_curves_shows_its_confusion(run: vfl.Run, tmp_path: Path) -> None:
    """Results of earlier versions have none."""
    copy = vfl.load(run.path)
    kept, values = (run.path / "result.json").read_text(), values_of(run.path / "result.json")
    del values["curves"]
    try:
        (run.path / "result.json").write_text(json.dumps(values))
        assert titles(copy.plot("test")) == ["test rows, colour by class"]
        copy.report(tmp_path / "page.html")
        assert 'alt="Test rows of the active party: confusion matrix"' in page_source(tmp_path)
    finally:
        (run.path / "result.json").write_text(kept)
