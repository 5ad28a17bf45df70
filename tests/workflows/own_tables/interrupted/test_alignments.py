"""Runs that are killed before their training go on."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.outcomes.commands import Command, align, inspect, sweep, train
from tests.helpers.own_data.own import flags
from tests.helpers.own_data.own_predictions import Finished
from vfl_flower.alignment import active as aligning
from vfl_flower.common.layout import ALIGNMENT
from vfl_flower.data.alignment_record import Alignment
from vfl_flower.data.splitting.record import Split
from vfl_flower.runs.run_folder import RunFolder

Killed = Callable[[Command, list[str]], None]
METHOD = "--method=splitnn"


class Kill(BaseException):
    """Ends a command as SIGKILL does: nothing tidies up."""


def weights(folder: Path) -> dict[str, bytes]:
    paths = folder.rglob("weights.safetensors")
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def state(folder: Path) -> str:
    return str(tomllib.loads((folder / "config.toml").read_text())["state"])


def kill(*args: object, **kwargs: object) -> None:
    raise Kill


@pytest.fixture(params=["begun", "aligned", "kept by the passive parties"])
def killed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Killed:
    """Kill a command at a moment of its alignment."""

    def run(command: Command, arguments: list[str]) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(RunFolder, "give_up", RunFolder.end)
            if request.param == "begun":
                patch.setattr(aligning, "align", kill)
            elif request.param == "aligned":
                patch.setattr("vfl_flower.workflows.align.check_enough", kill)
            else:
                save = Alignment.save

                def passive_only(self: Alignment, folder: Path) -> None:
                    save(self, folder) if folder.name != "active" else kill()

                patch.setattr(Alignment, "save", passive_only)
            with pytest.raises(Kill):
                command(arguments)

    return run


@pytest.mark.slow
def test_a_run_goes_on(killed: Killed, tables: str, finished: Finished, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    killed(train, flags(tables, folder, METHOD))
    assert state(folder) == "aligning"
    assert inspect([str(folder)]) == 0
    assert train(["--resume", str(folder)]) == 0
    assert weights(folder) == weights(finished(METHOD))
    assert state(folder) == "complete"


@pytest.mark.slow
@pytest.mark.parametrize("repeats", ["--seeds=2", "--folds=2"])
def test_several_runs_go_on(
    repeats: str, killed: Killed, tables: str, finished: Finished, tmp_path: Path
) -> None:
    more = (METHOD, "--label-privacy=none", repeats)
    killed(train, flags(tables, tmp_path / "run", *more))
    assert train(["--resume", str(tmp_path / "run")]) == 0
    assert weights(tmp_path / "run") == weights(finished(*more))


def test_an_alignment_goes_on_by_the_same_command(
    killed: Killed, tables: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["--parties=3", "--tables", tables, "--out", str(tmp_path / "rows")]
    killed(align, command)
    assert align(command) == 0
    assert len([*(tmp_path / "rows").rglob(ALIGNMENT)]) == 3
    assert align(command) == 2
    assert "exists and is not empty" in capsys.readouterr().err
    assert train(["--resume", str(tmp_path / "rows")]) == 2
    assert "is of task = align, and holds no run" in capsys.readouterr().err


def test_a_sweep_goes_on(killed: Killed, tables: str, tmp_path: Path) -> None:
    command = [*flags(tables, tmp_path / "sweep", METHOD), "--over", "learning-rates=0.01|0.1"]
    killed(sweep, command)
    assert sweep(["--resume", str(tmp_path / "sweep")]) == 0


def test_a_split_goes_on(
    tables: str, finished: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The passive parties keep it before the active one does."""
    more, save = (METHOD, "--split=stratified"), Split.save

    def passive_only(self: Split, folder: Path) -> None:
        save(self, folder) if folder.name != "active" else kill()

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "give_up", RunFolder.end)
        patch.setattr(Split, "save", passive_only)
        with pytest.raises(Kill):
            train(flags(tables, tmp_path / "run", *more))
    assert train(["--resume", str(tmp_path / "run")]) == 0
    assert weights(tmp_path / "run") == weights(finished(*more))
