"""Labels of own tables: numbers, rare classes, privacy."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.datasets import load_diabetes

from tests.helpers.data import columns_of, labels_of
from tests.helpers.outcomes.commands import train as run
from tests.helpers.own_data.own import (
    ROWS,
    SHARE,
    TINY,
    X,
    flags,
    make,
    result_of,
)
from tests.helpers.own_data.own_runs import align, stopped
from vfl_flower.config.run_config import RunConfig
from vfl_flower.workflows.build_parties import build_active


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return tables whose labels are numbers, in a unit of their own."""
    bunch = load_diabetes()
    y = (1000 + 50 * (X[:, 3] / X[:, 3].std()) + bunch.target[:ROWS] / 100).round(3)
    return make(tmp_path_factory.mktemp("numbers"), y.tolist())


@pytest.mark.slow
@pytest.mark.parametrize("method", ["easter", "splitnn", "agg_vfl", "vafl", "fedbcd", "c_vfl"])
def test_numbers_are_learnt_too(method: str, numbers: str, tmp_path: Path) -> None:
    more = (f"--method={method}", "--epochs=12", "--keep=best", "--baselines=on")
    assert run(flags(numbers, tmp_path / "out", *more)) == 0
    result = result_of(tmp_path / "out")
    assert (result["task"], result["classes"]) == ("regression", [])
    assert result["loss"] == "mean-squared-error"
    metrics = result["metrics"]["active"]
    assert metrics["r2"] == pytest.approx(result["test_r2"]["active"])
    assert 0.4 < metrics["r2"] < 1
    assert 0.4 < result["baselines"]["local"] < 1
    assert 1 < metrics["mae"] < 40  # in the file's unit, of which labels are 50 apart
    assert metrics["mse"] > metrics["mae"] ** 2
    lines = (tmp_path / "out" / "metrics.jsonl").read_text().splitlines()
    scores = [np.mean([*json.loads(line)["validation_r2"].values()]) for line in lines]
    steps = [json.loads(line)["step"] for line in lines]
    assert result["counting_step"] == steps[int(np.argmax(scores))]


@pytest.mark.parametrize(
    "more",
    [
        *([f"--method={method}"] for method in ("pravfed", "fdml", "vimadmm", "linear_admm")),
        ["--method=c_vfl", "--share-labels"],
        ["--label-privacy=laplace"],
        ["--class-weights=balanced"],
        ["--long-tail=3"],
        ["--loss=cross-entropy"],
    ],
)
def test_what_is_of_classes_is_refused_for_numbers(
    more: list[str], numbers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stopped(numbers, tmp_path / "out", capsys, "is of classes, and the labels are numbers", *more)


def test_a_loss_of_numbers_is_refused_for_classes(
    tables: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stopped(tables, tmp_path / "out", capsys, "labels are classes", "--loss=mean-squared-error")


@pytest.mark.parametrize("loss", ["cross-entropy", "binary-cross-entropy"])
def test_balanced_classes_weigh_alike(loss: str, tables: str, tmp_path: Path) -> None:
    """A loss of uninformative outputs has each class's share."""
    cfg = RunConfig(**TINY, tables=tables, loss=loss, alignment=str(tmp_path))
    align(cfg, "local", tmp_path)
    active = build_active(replace(cfg, class_weights="balanced"))
    y = active.y[torch.from_numpy(active.rows["train"])]
    assert (y == 0).sum() != (y == 1).sum()
    logits = torch.randn(len(y), 2, generator=torch.Generator().manual_seed(1))
    plain = build_active(cfg).loss
    by_class = [plain(logits[y == c], y[y == c]).item() for c in (0, 1)]
    assert active.loss(logits, y).item() == pytest.approx(sum(by_class) / 2, rel=1e-5)


def test_label_privacy_noises_own_labels(tables: str, tmp_path: Path) -> None:
    cfg = RunConfig(**TINY, tables=tables, alignment=str(tmp_path))
    align(cfg, "local", tmp_path)
    private = replace(cfg, label_privacy="randomized-response", label_epsilon=0.5)
    active = build_active(private)
    assert not torch.equal(active.training_labels.labels.argmax(1), labels_of(cfg))
    assert torch.equal(active.y, labels_of(private))
    assert columns_of(private, 1).shape == (len(active.y), SHARE)
