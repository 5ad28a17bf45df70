"""Explanations of runs of own tables."""

import json
from pathlib import Path

import pytest

from tests.helpers.outcomes.commands import explain as run
from tests.helpers.outcomes.commands import train
from tests.helpers.own_data.own import NAMES, X, flags, make
from tests.helpers.own_data.own_predictions import OF_IMAGES, Finished
from vfl_flower.config.registry import METHODS, specs

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("method", sorted({*METHODS} - OF_IMAGES))
def test_parties_and_no_columns_are_told(
    method: str, finished: Finished, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--rows", "test", "--repeats", "2", "--json"]
    folder = finished(f"--method={method}")
    capsys.readouterr()
    assert run([str(folder), *arguments]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)["permutation"]
    assert (found["rows"], found["repeats"], found["metric"]) == ("test", 2, "accuracy")
    assert [each["party"] for each in found["parties"]] == ["active", "party-1", "party-2"]
    assert {each["holds"] for each in found["parties"]} == {"8 columns"}
    if found["score"] > 0.75:
        assert any(each["drop"] for each in found["parties"])
    assert ("norm" in printed.out) == specs()[method].additive
    assert not any(name in printed.out + printed.err for name in NAMES)
    assert not list(folder.rglob("explanation.json"))


def test_heads_are_judged_by_the_runs_threshold_and_no_table_is_cut_anew(
    finished: Finished, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(finished("--method=vimadmm", "--threshold=0.2"))
    capsys.readouterr()
    assert run([folder, "--rows", "test", "--repeats", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["accuracy"] == found["recorded"] == found["permutation"]["score"]
    assert run([folder, "--out", str(tmp_path / "out"), "--retrain", "top:50"]) == 2
    assert "--retrain cuts the columns anew" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_numbers_are_explained_by_r2_or_by_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = make(tmp_path / "tables", [float(each) for each in X[:, 0]])  # a column of active
    more = ["--method=splitnn", "--epochs=8", "--learning-rates=0.02"]
    assert train(flags(tables, tmp_path / "run", *more)) == 0
    for metric, asked in (("r2", []), ("rmse", ["--metric", "rmse"])):
        capsys.readouterr()
        assert run([str(tmp_path / "run"), "--rows", "test", "--json", *asked]) == 0
        found = json.loads(capsys.readouterr().out)["permutation"]
        active, *others = found["parties"]
        assert found["metric"] == metric
        assert active["drop"] > max(each["drop"] for each in others)
        assert active["low"] > 0
