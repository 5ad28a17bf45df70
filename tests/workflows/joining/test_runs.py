"""Joined runs are runs like any other: folders, resumes, baselines."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.helpers.outcomes.commands import audit, inspect, predict, train
from tests.helpers.own_data.own import result_of
from vfl_flower.common.errors import ConfigError, RunError
from vfl_flower.common.layout import CARD, WEIGHTS, model_of
from vfl_flower.common.names import party_name
from vfl_flower.config.run_config import RunConfig
from vfl_flower.parties.progress import Progress
from vfl_flower.runs.seeds import first_fold

USUAL = ("--dataset=breast-cancer", "--batch-size=200", "--embedding-dim=8", "--models=mlp")
METHOD = ("--method=agg_vfl", "--blinding=none")
FEW = ("--epochs=2", "--partition=columns@0-2/4", "--parties=3", *USUAL, *METHOD)
JOINED = ("--epochs=4", "--partition=columns", "--parties=4", "--new-parties=1", *USUAL, *METHOD)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "first"
    assert train([*FEW, "--baselines=off", f"--out={out}"]) == 0
    return out


def weights_of(run: Path) -> list[bytes]:
    names = [party_name(rank) for rank in range(4)]
    return [(model_of(run / name) / WEIGHTS).read_bytes() for name in names]


@pytest.mark.slow
def test_a_run_with_baselines(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They begin with no model, and train on all columns."""
    out = tmp_path / "out"
    assert train([*JOINED, "--baselines=on", f"--model={model}", f"--out={out}"]) == 0
    result = result_of(out)
    assert result["joined"]["parties"] == ["party-3"]
    assert result["joined"]["model"] == "first"
    assert set(result["baselines"]) == {"local", "central"}
    assert "party-3 joined first" in capsys.readouterr().out
    assert "party-3 joined first" in (model_of(out / "active") / CARD).read_text()
    for rank in range(3):
        name = party_name(rank)
        kept, now = (model_of(run / name) / WEIGHTS for run in (model, out))
        assert kept.read_bytes() == now.read_bytes()
    assert inspect([str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["result"]["joined"]["model"] == "first"
    said = tmp_path / "said.csv"
    assert predict([str(out), "--rows=test", f"--out={said}"]) == 0
    assert len(said.read_text().splitlines()) > 100
    assert audit(["labels", str(out)]) == 0


def test_a_run_is_resumed(model: Path, tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    joining = [*JOINED, "--baselines=off", f"--model={model}"]
    assert train([*joining, f"--out={whole}"]) == 0
    add = Progress.add

    def stopped(progress: Progress, *record: Any, **more: Any) -> None:
        add(progress, *record, **more)
        if len(progress.records) == 3:
            raise RunError("the disk is full")

    with patch.object(Progress, "add", stopped):
        assert train([*joining, f"--out={parts}"]) == 2
    assert train([f"--resume={parts}"]) == 0
    assert weights_of(whole) == weights_of(parts)


def test_a_run_whose_model_is_gone_says_so(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert train([*JOINED, f"--model={tmp_path / 'gone'}", f"--out={out}"]) == 2
    assert "holds no trained model" in capsys.readouterr().err
    assert not out.exists()


def test_folds_are_refused(model: Path) -> None:
    cfg = RunConfig(method="agg_vfl", new_parties=1, model=str(model))
    with pytest.raises(ConfigError, match="new-parties is 1, and a model has one fold"):
        first_fold(cfg, 5)


def test_seeds_are_refused_before_one_is_trained(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert train([*JOINED, f"--model={model}", "--seeds=2", f"--out={out}"]) == 2
    assert "rows are split by the one seed of the model" in capsys.readouterr().err
    assert not out.exists()
