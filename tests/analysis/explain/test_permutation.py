"""Importance by permutation: intervals, columns, and runs that cannot be explained."""

import json
import shutil
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.commands import explain as run
from tests.helpers.outcomes.explained import RUNS, SMALL, Runs
from vfl_flower.analysis.explain import permutation
from vfl_flower.analysis.explain.choices import How
from vfl_flower.analysis.explain.groups import of_columns
from vfl_flower.analysis.explain.overview import Counted, explain_parties
from vfl_flower.analysis.explain.permutation import panel_of
from vfl_flower.data.preprocessing.encoder import Encoder
from vfl_flower.data.preprocessing.encoder_columns import Categorical, Numeric
from vfl_flower.runs.run_folder import RunFolder

DRAWS = permutation._DRAWS


@pytest.fixture(autouse=True)
def usual_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw as often as for a user, not as in other tests."""
    monkeypatch.setattr(permutation, "_DRAWS", DRAWS)


def explained(path: Path, part: str = "validation", repeats: int = 3) -> Counted:
    return explain_parties(RunFolder.reopen(path, {}), How(part, repeats))


def test_blank_pixels_count_least(runs: Runs) -> None:
    *others, blank = explained(runs / "blank").found.drops
    assert blank.drop < 0.5 * min(each.drop for each in others)
    assert blank.low < 0.1
    assert min(each.low for each in others) > blank.high


@pytest.mark.slow
def test_intervals_shrink_with_rows_and_come_out_the_same_each_time(runs: Runs) -> None:
    """144 rows, 359 rows."""
    widths = []
    for part in ("validation", "test"):
        found = explained(runs / "blank", part).found
        assert all(each.low <= each.drop <= each.high for each in found.drops)
        widths.append(np.mean([each.high - each.low for each in found.drops]))
    assert widths[1] < 0.8 * widths[0]
    assert found == explained(runs / "blank", "test").found


@pytest.mark.slow
def test_any_metric_falls_and_one_that_is_better_smaller_rises(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(permutation, "_DRAWS", 20)  # the AUC of ten classes takes long
    folder = RunFolder.reopen(runs / "blank", {})
    for metric, rises in (("auc", -1), ("log-loss", 1)):
        found = explain_parties(folder, How("test", 2, metric)).found
        assert found.metric == metric
        for each in found.drops[:3]:
            assert 0 < each.low < each.drop < each.high
            assert each.permuted - found.score == pytest.approx(rises * each.drop, abs=1e-6)


@pytest.mark.slow
def test_the_runs_own_metric_is_the_usual_one(tmp_path: Path) -> None:
    cfg = SMALL.changed(method="splitnn", epochs=1, train_rows=200, metric="balanced-accuracy")
    Attempt(cfg, tmp_path / "run").run()
    assert explained(tmp_path / "run", "test", 1).found.metric == "balanced-accuracy"


def test_only_the_columns_asked_for_change_and_only_for_a_while(runs: Runs) -> None:
    panel = panel_of(RunFolder.reopen(runs / "blank", {}), How())
    party, rows = panel.parties[1], torch.from_numpy(panel.rows).long()
    before, group = party.data.numbers.clone(), of_columns(party)[3]
    assert group.places is not None
    with pytest.raises(ZeroDivisionError), group.permuted(panel.rows, np.roll(np.arange(144), 1)):
        moved = before.clone()
        moved[rows[:, None], group.places] = before[rows.roll(1)[:, None], group.places]
        assert party.data.numbers.equal(moved) and not moved.equal(before)
        _ = 1 / 0
    assert party.data.numbers.equal(before)


def test_noise_on_uploads_is_left_out_and_no_upload_is_counted(runs: Runs) -> None:
    path = runs / "uploads noised"
    before = {each: each.read_bytes() for each in path.rglob("*") if each.is_file()}
    assert explained(path).found == explained(path).found
    assert {each: each.read_bytes() for each in path.rglob("*") if each.is_file()} == before


@pytest.mark.parametrize("name", ["images", "labels only", "blank linear"])
def test_each_party_with_columns_is_explained(name: str, runs: Runs) -> None:
    counted = explained(runs / name, repeats=1)
    lacking = RUNS[name].get("active_columns") == "none"
    assert len(counted.found.drops) == len(counted.holds) == 4 - lacking


@pytest.mark.slow
def test_a_party_sees_its_own_columns_in_its_own_folder(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of strips each pixel, in a file for its owner."""
    folder = Path(shutil.copytree(runs / "strips", tmp_path / "run"))
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    arguments = [str(folder), "--party", "party-3", "--repeats", "2"]
    assert run([*arguments, "--json"]) == 0
    printed = capsys.readouterr()
    written = folder / "party-3" / "explanation.json"
    assert json.loads(printed.out) == json.loads(written.read_text())
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    found = json.loads(printed.out)
    assert [each["column"] for each in found["columns"]] == [
        f"rows {n}, columns 0" for n in range(8)
    ]
    assert found["party"] == "party-3" and max(each["drop"] for each in found["columns"]) > 0
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert after == before | {written: written.read_bytes()}
    assert run(arguments) == 0  # and once more
    assert "for party-3 alone" in " ".join(capsys.readouterr().out.split())


def test_all_that_one_column_became_is_permuted_together() -> None:
    numbers = (Numeric("age", 0.0, 0.0, 1.0), Numeric("income", 0.0, 0.0, 1.0))
    branch = Categorical("branch", ("north", "south"), True, "text")
    made = Encoder(numbers, (branch,))
    assert made.sources == ("age", "income", "branch", "branch", "branch")
    assert len(made.sources) == made.width


@pytest.mark.parametrize(
    ("changes", "arguments", "says"),
    [
        ({"validation": 0.0}, [], "held out no validation rows; explain it on test rows"),
        ({"method": "central"}, ["--party", "party-1"], "central pools all columns"),
        ({}, ["--party", "party-4"], "no party with columns is 'party-4'"),
        ({}, ["--party", "party-1", "--noise", "3"], "it takes --rows, --repeats and --metric"),
        ({}, ["--rows", "tests"], "did you mean 'test'?"),
        ({}, ["--metric", "aucs"], "did you mean 'auc'?"),
        ({}, ["--metric", "rmse"], "metric is rmse, and these labels are judged by accuracy, "),
        ({}, ["--repeats", "0"], "repeats must be 1 to 1000, not 0"),
        (
            {},
            ["--noise", "3"],
            "--noise is about the parties' heads, and the prediction of splitnn",
        ),
        ({}, ["--out", "out", "--retrain", "top:50"], "--retrain is about the parties' heads"),
        ({}, ["--out", "out", "--tsne", "party-1"], "--tsne is about the parties' heads"),
    ],
)
def test_what_cannot_be_explained_is_refused(
    changes: dict[str, Any],
    arguments: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    cfg = replace(SMALL.changed(method="splitnn"), epochs=1, train_rows=200)
    Attempt(cfg.changed(**changes), Path("run")).run()
    before = sorted(Path().rglob("*"))
    assert run(["run", *arguments]) == 2
    assert says in " ".join(capsys.readouterr().err.split())
    assert sorted(Path().rglob("*")) == before
