"""Sweeps: choice on validation rows, refused and failed trials, resumes."""

import json
from errno import ENOSPC
from os import strerror
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from tests.helpers.outcomes.commands import sweep
from tests.helpers.outcomes.edits import values_of
from vfl_flower.common.errors import ConfigError, Interrupted, RunError, VflError
from vfl_flower.common.state import State, write_state
from vfl_flower.protocol.observer import Observer
from vfl_flower.workflows.local.watch import Watch
from vfl_flower.workflows.sweep.record import SweepRecord, new_sweep, read_record
from vfl_flower.workflows.sweep.run import sweep_in

pytest.importorskip("optuna")
BASE: dict[str, Any] = {"models": "linear", "epochs": 1, "batch-size": 700, "embedding-dim": 4}
FLAGS = [text for key, value in BASE.items() for text in (f"--{key}", str(value))]
RATES = {"learning-rates": "log:1e-3..1e-1"}


class StopsIn(Observer):
    """Interrupts one run, by its number, as Ctrl-C does."""

    def __init__(self, number: int) -> None:
        self.left = number

    def on_start(self, *_: object) -> None:
        self.left -= 1
        if self.left < 0:
            raise Interrupted("stopped", Path("trial-001"))


def run(path: Path, over: dict[str, str], trials: int, **more: Any) -> SweepRecord:
    return sweep_in(path, new_sweep(path, over, BASE | more, trials), Watch())


def result_of(path: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((path / "result.json").read_text())
    return result


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sweep over learning rates with the command."""
    path = tmp_path_factory.mktemp("sweep") / "sweep"
    over = ["--over", f"learning-rates={RATES['learning-rates']}"]
    assert sweep([*FLAGS, *over, "--trials", "3", "--out", str(path)]) == 0
    return path


def test_each_trial_is_a_run_and_validation_rows_choose(whole: Path) -> None:
    record = read_record(whole)
    accuracies = []
    for done in record.done:
        result = result_of(whole / done.folder)
        assert done.score == fmean(result["validation_accuracy"].values())
        assert result["learning_rates"] == [float(done.options["learning-rates"])] * 4
        accuracies.append(done.score)
    assert len({done.options["learning-rates"] for done in record.done}) == 3
    assert record.best is not None
    assert record.best.score == max(accuracies)
    assert "test" not in (whole / "sweep.json").read_text()
    assert (whole / "sweep.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_an_interrupted_sweep_ends_as_an_uninterrupted_one(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "sweep"
    record = new_sweep(path, RATES, BASE, 3)
    stops = StopsIn(1)
    with pytest.raises(Interrupted, match=f"stopped; resume {path}$"):
        sweep_in(path, record, Watch(observer=lambda title: stops))
    assert len(read_record(path).done) == 1
    resumed = sweep_in(path, read_record(path), Watch())
    assert resumed.as_dict() == read_record(whole).as_dict()


@pytest.mark.slow
@pytest.mark.parametrize("party", ["active", "party-1"])
def test_a_full_disk_is_no_outcome_of_a_trial(
    party: str, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sweep ends, and goes on once there is room."""
    path = tmp_path / "sweep"

    def full(file: Path, state: State) -> None:
        if file.parent == path / "trial-001" / party:
            raise RunError(f"{file} cannot be written: {OSError(ENOSPC, strerror(ENOSPC))}")
        write_state(file, state)

    with monkeypatch.context() as patch:
        patch.setattr("vfl_flower.parties.persistence.checkpoints.write_state", full)
        with pytest.raises(VflError, match="No space left on device"):
            run(path, RATES, 3)
    assert len(read_record(path).done) == 1
    assert sweep_in(path, read_record(path), Watch()).as_dict() == read_record(whole).as_dict()


def test_a_damaged_journal_of_optuna_is_written_anew(whole: Path, tmp_path: Path) -> None:
    path, stops = tmp_path / "sweep", StopsIn(1)
    with pytest.raises(Interrupted):
        sweep_in(path, new_sweep(path, RATES, BASE, 3), Watch(observer=lambda title: stops))
    lines = (path / "optuna.log").read_bytes().splitlines(keepends=True)
    (path / "optuna.log").write_bytes(b"".join([lines[0], b"{" + lines[1], *lines[2:]]))
    assert sweep_in(path, read_record(path), Watch()).as_dict() == read_record(whole).as_dict()


def test_a_damaged_file_is_no_outcome_of_a_trial(tmp_path: Path) -> None:
    path, stops = tmp_path / "sweep", StopsIn(1)
    with pytest.raises(Interrupted):
        sweep_in(path, new_sweep(path, RATES, BASE, 3), Watch(observer=lambda title: stops))
    config = path / "trial-001" / "config.toml"
    config.write_bytes(b"")
    with pytest.raises(RunError, match=f"{config} is damaged: it lacks options"):
        sweep_in(path, read_record(path), Watch())
    assert len(read_record(path).done) == 1


def test_more_trials_may_follow_and_a_complete_sweep_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "sweep"
    run(path, RATES, 1)
    first = read_record(path).done
    assert sweep(["--resume", str(path), "--trials", "2"]) == 0
    assert read_record(path).done[:1] == first
    capsys.readouterr()
    assert sweep(["--resume", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == read_record(path).as_dict()
    assert len(read_record(path).done) == 2


@pytest.mark.parametrize(
    ("over", "states", "says"),
    [
        ({"parties": "2"}, ["refused"], "use parties = 3 or more"),
        ({"models": "cnn", "partition": "columns"}, ["refused"], "use mlp"),
        ({"learning-rates": "1e30", "optimizers": "sgd"}, ["failed"], "lower the lear"),
    ],
)
def test_refused_and_failed_trials_do_not_end_the_sweep(
    over: dict[str, str], states: list[str], says: str, tmp_path: Path
) -> None:
    base = {key: value for key, value in BASE.items() if key != "models"}
    record = new_sweep(tmp_path / "sweep", over, base | {"epochs": 2}, 2)
    with pytest.raises(RunError, match=f"no trial of 1 is complete: .*{says}"):
        sweep_in(tmp_path / "sweep", record, Watch())
    done = read_record(tmp_path / "sweep").done
    assert [each.state for each in done] == states
    assert says in done[0].error


def test_all_settings_are_tried_once_where_they_are_few(tmp_path: Path) -> None:
    path = tmp_path / "sweep"
    over = {"embedding-dim": "2,4", "batch-size": "700,100000"}
    base = {key: value for key, value in BASE.items() if key not in over}
    made = sweep_in(path, new_sweep(path, over, base, 5), Watch())
    tried = [(each.options["embedding-dim"], each.options["batch-size"]) for each in made.done]
    assert tried == [(2, 700), (2, 100000), (4, 700), (4, 100000)]
    assert [each.state == "complete" for each in made.done] == [True, False] * 2
    assert [each.folder for each in made.done if each.folder] == ["trial-000", "trial-002"]
    assert sweep_in(path, read_record(path), Watch()) == made
    assert (path / "optuna.log").stat().st_mode & 0o777 == 0o600
    assert path.stat().st_mode & 0o777 == 0o700


@pytest.mark.slow
def test_a_setting_that_is_drawn_again_is_no_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vfl_flower.workflows.sweep.run._trained", lambda *_: ("accuracy", 0.5))
    path = tmp_path / "sweep"
    base = {key: value for key, value in BASE.items() if key != "embedding-dim"}
    made = sweep_in(path, new_sweep(path, {"embedding-dim": "1..4"}, base, 4), Watch())
    assert sorted(each.options["embedding-dim"] for each in made.done) == [1, 2, 3, 4]
    more = sweep_in(path, read_record(path).extended(5), Watch())
    assert more.done == made.done


def test_second_names_are_the_same_option(tmp_path: Path) -> None:
    record = new_sweep(tmp_path / "sweep", {"lr": "0.1,0.2"}, BASE, 2)
    assert record.over == {"learning-rates": "0.1,0.2"}
    with pytest.raises(ConfigError, match="learning-rates is both set and swept over"):
        new_sweep(tmp_path / "sweep", {"learning-rates": "0.1"}, BASE | {"lr": "0.1"}, 2)
    with pytest.raises(ConfigError, match="over names learning-rates twice"):
        new_sweep(tmp_path / "sweep", {"lr": "0.1", "learning-rates": "0.1"}, BASE, 2)


@pytest.mark.parametrize("key", ["dataset", "seed", "test-share", "train-rows", "validation"])
def test_all_trials_are_judged_on_the_same_rows(key: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"over: {key} changes the validation rows"):
        new_sweep(tmp_path / "sweep", {key: "1,2"}, BASE, 2)


@pytest.mark.parametrize("folder", ["../other", "/other", "trial-000/..", "alignment"])
def test_a_record_names_folders_of_trials_alone(whole: Path, tmp_path: Path, folder: str) -> None:
    content = values_of(whole / "sweep.json")
    content["done"][0]["folder"] = folder
    (tmp_path / "sweep.json").write_text(json.dumps(content))
    with pytest.raises(RunError, match=r"damaged: .* is no folder of a trial"):
        read_record(tmp_path)


def test_fewer_trials_than_have_ended_are_refused(whole: Path) -> None:
    with pytest.raises(ConfigError, match="trials is 1, and 3 have ended"):
        read_record(whole).extended(1)
    with pytest.raises(ConfigError, match="trials must be at least 1"):
        read_record(whole).extended(0)


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ([], "--over is missing"),
        (["--over", "epochs=1,2", "--epochs", "3"], "epochs is both set and swept over"),
        (["--over", "epochs=1,2", "--trials", "0"], "--trials must be at least 1"),
        (["--over", "epochs=1,2", "--batch-size", "0"], "batch-size must be at least 1"),
        (["--over", "epochs=1,2", "--validation", "0"], "chooses on validation rows"),
        (["--resume", "none"], "none/sweep.json is missing"),
        (["--resume", "none", "--epochs", "3"], "--resume goes on with the sweep's own options"),
    ],
)
def test_wrong_sweeps_are_refused_before_anything_is_written(
    flags: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert sweep(flags) == 2
    assert says in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())


def test_a_damaged_record_is_told(tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text('{"trials": 1}')
    with pytest.raises(RunError, match="damaged"):
        read_record(tmp_path)


def test_modules_that_a_record_names_are_not_imported(tmp_path: Path) -> None:
    """Somebody else may have written it."""
    path = tmp_path / "sweep"
    record = new_sweep(path, {"models": "antigravity:fly"}, {}, 1)
    with pytest.raises(RunError, match="trust"):
        sweep_in(path, record, Watch())


def test_a_folder_that_is_used_is_refused(whole: Path) -> None:
    with pytest.raises(RunError, match="exists and is not empty"):
        new_sweep(whole, RATES, BASE, 1)
    with pytest.raises(ConfigError, match="trials must be at least 1"):
        new_sweep(whole / "new", RATES, BASE, 0)
