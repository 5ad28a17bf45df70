"""Folders whose run was killed at its first files, or its last."""

import tomllib
from pathlib import Path

import pytest

from tests.helpers.outcomes.commands import train
from tests.helpers.outcomes.run_folders import TINY
from vfl_flower.common.errors import Interrupted
from vfl_flower.common.files import PARTIAL
from vfl_flower.runs.config_file import write_config
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.workflows import simulate

QUICK = ["--dataset=wine", "--epochs=1", "--batch-size=32", "--method=splitnn", "--baselines=off"]
LEFT = (f".config.toml.abcd1234{PARTIAL}", ".seeds.json.q_0wert7")
"""Of this version and of earlier ones."""


@pytest.mark.parametrize("more", [(), ("--seeds=2",)])
def test_a_folder_with_temporary_files_alone_is_free(more: tuple[str, ...], tmp_path: Path) -> None:
    for name in LEFT:
        (tmp_path / name).write_text("run = ")
    assert train([*QUICK, *more, "--out", str(tmp_path)]) == 0
    assert not [*tmp_path.rglob(".*")]


@pytest.mark.parametrize(
    "name",
    [
        ".config.toml.swp",
        ".notes.markdown",
        ".upload.partial",
        ".settings.json.original",
        "a.partial",
    ],
)
def test_files_of_others_are_no_temporary_files(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).touch()
    assert train([*QUICK, "--out", str(tmp_path)]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert (tmp_path / name).exists()


def test_temporary_files_go_when_a_run_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert train([*QUICK, "--out", str(out)]) == 0
    (out / "result.json").unlink()
    left = [out / "active" / LEFT[0], out / "party-1" / "model" / LEFT[0]]
    for path in left:
        path.touch()
    assert train(["--resume", str(out)]) == 0
    assert not any(path.exists() for path in left)


def test_a_run_killed_after_its_result_is_complete(tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert train([*QUICK, "--out", str(out)]) == 0
    whole = (out / "config.toml").read_text()
    values = tomllib.loads(whole)
    write_config(out, values.pop("state") and "training", values)
    (out / LEFT[0]).touch()
    assert train(["--resume", str(out)]) == 0
    assert (out / "config.toml").read_text() == whole
    assert not (out / LEFT[0]).exists()


def test_a_run_that_was_killed_before_its_labels_were_noised_goes_on(tmp_path: Path) -> None:
    more = ("--label-privacy=randomized-response", "--label-epsilon=1")
    assert train([*QUICK, *more, "--out", str(tmp_path / "run")]) == 0
    values = tomllib.loads((tmp_path / "run" / "config.toml").read_text())
    (tmp_path / "killed").mkdir()
    write_config(tmp_path / "killed", values.pop("state") and "aligning", values)
    assert train(["--resume", str(tmp_path / "killed")]) == 0


def test_a_folder_is_an_option_file(tmp_path: Path) -> None:
    """Its state is no option; elsewhere such a key is refused."""
    folder = RunFolder(tmp_path / "run", TINY)
    folder.begin()
    folder.end()
    config = tmp_path / "run" / "config.toml"
    assert train(["--config", str(config), "--epochs=1", "--out", str(tmp_path / "new")]) == 0
    (tmp_path / "own.toml").write_text('state = "training"')
    assert train(["--config", str(tmp_path / "own.toml"), "--out", str(tmp_path / "x")]) == 2


def test_an_interrupted_run_of_several_seeds_names_the_folder_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(folder: RunFolder) -> None:
        raise Interrupted("stopped after step 1", folder.path)

    monkeypatch.setattr(simulate, "simulate", stopped)
    assert train([*QUICK, "--seeds=2", "--out", str(tmp_path / "run")]) == 130
    told = capsys.readouterr().err.split()
    assert told[-2:] == ["resume", str(tmp_path / "run")]
