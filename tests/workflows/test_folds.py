"""Cross-validation: one alignment, a run for each fold, and their means."""

import json
import shutil
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vfl_flower
from tests.helpers.outcomes.commands import inspect, report, train
from tests.helpers.own_data.own import flags, make, result_of
from vfl_flower.common.errors import DataError, RunError
from vfl_flower.common.layout import ALIGNMENT, SPLIT
from vfl_flower.data.splitting.record import Split
from vfl_flower.privacy.label_dp.training_labels import NOISED

QUICK = ["--dataset=wine", "--epochs=1", "--batch-size=32", "--method=splitnn", "--baselines=off"]


def folds_of(root: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(root.glob("fold-*/result.json"))]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three stratified folds of own tables."""
    root = tmp_path_factory.mktemp("folds")
    tables, more = make(root / "tables"), ["--method=splitnn", "--split=stratified", "--folds=3"]
    assert train(flags(tables, root / "run", *more)) == 0
    return root / "run"


@pytest.mark.slow
def test_folds_share_an_alignment_and_no_test_row(run: Path) -> None:
    assert len(list(run.rglob(ALIGNMENT))) == 3
    splits = [Split.load(run / f"fold-{k}" / "active").parts for k in range(3)]
    assert (np.sum([parts == 2 for parts in splits], axis=0) == 1).all()
    assert len(list(run.rglob(SPLIT))) == 9
    encoders = {path.read_bytes() for path in run.glob("fold-*/party-1/model/encoder.json")}
    assert len(encoders) == 3  # each fitted on its own training rows


def test_the_summary_has_the_means_of_the_folds(run: Path) -> None:
    summary, results = result_of(run), folds_of(run)
    assert summary["folds"] == ["0/3", "1/3", "2/3"]
    reached = [each["test_accuracy"]["active"] for each in results]
    spread = summary["test_accuracy"]["active"]
    assert spread == {"mean": statistics.fmean(reached), "std": statistics.stdev(reached)}


@pytest.mark.slow
def test_a_run_of_folds_goes_on(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    again = Path(shutil.copytree(run, tmp_path / "run"))
    (again / "fold-1" / "result.json").unlink()
    shutil.rmtree(again / "fold-2")
    assert inspect([str(again)]) == 0
    assert "1 of 3 folds complete" in capsys.readouterr().out
    assert train([f"--resume={again}"]) == 0
    assert [each["test_accuracy"] for each in folds_of(again)] == [
        each["test_accuracy"] for each in folds_of(run)
    ]


@pytest.mark.slow
def test_folds_are_shown_and_reported(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert inspect([str(run)]) == 0
    shown = capsys.readouterr().out
    assert "3 folds" in shown
    assert "fold 0:" in shown
    assert report([str(run)]) == 0
    text = (run / "report.html").read_text()
    assert "folds 0, 1, 2; complete" in text
    assert "those of fold 0." in text


def test_a_fold_alone_is_the_same_run(run: Path, tmp_path: Path) -> None:
    kept = json.loads((run / "folds.json").read_text())["config"]
    more = ["--method=splitnn", "--split=stratified", "--fold=1/3", f"--alignment={run}"]
    assert train(flags(kept["tables"], tmp_path / "alone", *more)) == 0
    weights = Path("active", "model", "weights.safetensors")
    assert (tmp_path / "alone" / weights).read_bytes() == (run / "fold-1" / weights).read_bytes()


def test_labels_are_noised_once_for_all_folds(tmp_path: Path) -> None:
    noised = ["--split=stratified", "--folds=2", "--label-privacy=laplace", "--label-epsilon=8"]
    out = tmp_path / "run"
    assert train([*QUICK, *noised, f"--out={out}"]) == 0
    assert len({path.read_bytes() for path in out.rglob(NOISED)}) == 1
    assert result_of(out)["label_privacy"]["epsilon"] == 8
    splits = [Split.load(out / f"fold-{k}" / "active").parts for k in range(2)]
    assert (np.sum([parts == 2 for parts in splits], axis=0) == 1).all()


def test_uploads_of_all_folds_count(tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert train([*QUICK, "--folds=2", "--dp-sigma=20", f"--out={out}"]) == 0
    epsilons = [each["client_privacy"]["epsilon"] for each in folds_of(out)]
    assert result_of(out)["client_privacy"]["epsilon"] == pytest.approx(sum(epsilons))


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--folds=200"], "178 rows are too few for 200 folds"),
        (["--folds=60", "--split=stratified"], "too few for a row in each of 60 folds"),
        (["--folds=2", "--batch-size=100"], "batch-size 100 is more than"),
        (["--folds=2", "--label-privacy=laplace", "--keep=best"], "keep = best looks at true"),
        (["--folds=2", "--label-privacy=laplace", "--stop-drop=1"], "stop-drop looks at true"),
    ],
)
def test_folds_that_cannot_be_leave_nothing_behind(
    more: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train([*QUICK, *more, f"--out={tmp_path / 'run'}"]) != 0
    assert says in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_python_cross_validates(tmp_path: Path) -> None:
    options: dict[str, Any] = {"epochs": 1, "batch_size": 32, "method": "splitnn"}
    made = vfl_flower.cross_validate(
        "wine", folds=2, out=tmp_path / "run", baselines="off", progress=False, **options
    )
    assert len(made) == len(made.runs) == 2
    assert sum(len(run.predict()) for run in made.runs) == 178
    mean = statistics.fmean(run.result["test_accuracy"]["active"] for run in made.runs)
    assert made.result["test_accuracy"]["active"]["mean"] == mean
    (tmp_path / "run" / "fold-1" / "result.json").unlink()
    again = vfl_flower.CrossValidation(tmp_path / "run")
    with pytest.raises(RunError, match=r"1 of 2 folds in .* are complete"):
        _ = again.result
    assert again.resume(progress=False).result["test_accuracy"] == made.result["test_accuracy"]
    with pytest.raises(RunError, match="several seeds or folds"):
        vfl_flower.load(tmp_path / "run")
    with pytest.raises(DataError, match="too few for 200 folds"):
        vfl_flower.cross_validate("wine", folds=200, progress=False, **options)
