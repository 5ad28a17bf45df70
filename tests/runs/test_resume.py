"""Run folders at a resume: complete, incomplete, in use, of several seeds."""

import json
import shutil
from pathlib import Path

import pytest

from tests.helpers.outcomes.commands import train as run
from tests.helpers.outcomes.run_folders import (
    NAMES,
    PER_EPOCH,
    STEPS,
    assert_same_run,
    refused,
    unfinished,
)
from vfl_flower.common.layout import checkpoint_path, steps_kept
from vfl_flower.common.state import read_state
from vfl_flower.config.run_config import RunConfig
from vfl_flower.runs.run_folder import RunFolder


@pytest.mark.slow
def test_killed_between_the_parties_checkpoints(whole: Path, tmp_path: Path) -> None:
    """Passive parties are a checkpoint ahead: all return to the last set."""
    out = tmp_path / "run"
    shutil.copytree(whole, out)
    (out / "result.json").unlink()
    for name in NAMES:
        (out / name / "model/weights.safetensors").unlink()
    last = steps_kept(out / "active")
    assert last == [STEPS - PER_EPOCH, STEPS]
    checkpoint_path(out / "active", STEPS).unlink()
    assert run(["--resume", str(out)]) == 0
    assert_same_run(out, whole)


def test_killed_between_weights_and_result(whole: Path, tmp_path: Path) -> None:
    """Fully trained: the same result, without a double count."""
    out = tmp_path / "run"
    shutil.copytree(whole, out)
    (out / "result.json").unlink()
    assert run(["--resume", str(out)]) == 0
    assert_same_run(out, whole)


def test_keys_are_in_no_checkpoint(whole: Path) -> None:
    """A stolen checkpoint unmasks nothing; two checkpoints are kept."""
    for name in NAMES[1:]:
        paths = sorted((whole / name).glob("checkpoint-*"))
        assert len(paths) == 2
        for path in paths:
            content = read_state(path)
            assert set(content) == {"header", "state"}
            assert set(content["header"]) == {"party", "step", "run"}
            kept = {"net", "optimizer", "randomness", "best", "privacy", "automaton"}
            assert set(content["state"]) == kept
            noiseless: dict[str, object] = {"counts": None, "sent": None}
            assert content["state"]["privacy"] == noiseless
            assert b"secret" not in path.read_bytes()
            assert path.stat().st_mode & 0o777 == 0o600


def test_complete_run_is_shown_and_left_alone(
    whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {p: p.stat().st_mtime_ns for p in whole.rglob("*") if p.is_file()}
    assert run(["--resume", str(whole)]) == 0
    assert {p: p.stat().st_mtime_ns for p in whole.rglob("*") if p.is_file()} == before
    shown = capsys.readouterr().out
    assert "complete already" in shown
    assert "test accuracy" in shown
    assert "epoch 1" not in shown


def test_circumstances_may_change_at_a_resume(whole: Path, tmp_path: Path) -> None:
    """Moved data or a longer wait: the same run, new paths."""
    out = unfinished(whole, tmp_path / "run")
    moved = ["--data-dir", str(tmp_path / "moved"), "--party-timeout", "5", "--no-download"]
    assert run(["--resume", str(out), *moved]) == 0
    assert_same_run(out, whole)
    assert f'data-dir = "{tmp_path}/moved"' in (out / "config.toml").read_text()


def test_a_run_that_goes_on_is_not_resumed_beside_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = RunFolder(tmp_path / "run", RunConfig(models="mlp", epochs=1, baselines="off"))
    folder.begin()
    assert "another process works in" in refused(["--resume", str(folder.path)], capsys)
    folder.end()
    assert run(["--resume", str(folder.path)]) == 0


@pytest.mark.slow
def test_several_seeds_are_resumed_as_a_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--epochs", "2", "--models", "mlp", "--batch-size", "400", "--baselines", "off"]
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for out in (whole, broken):
        assert run([*flags, "--seeds", "3", "--out", str(out)]) == 0
    (broken / "result.json").unlink()
    (broken / "seed-1" / "result.json").unlink()  # stopped at its end
    shutil.rmtree(broken / "seed-2")  # not begun
    capsys.readouterr()
    assert run(["--resume", str(broken)]) == 0
    assert f"{broken / 'seed-0'} was complete already" in capsys.readouterr().out
    ours, theirs = (json.loads((out / "result.json").read_text()) for out in (broken, whole))
    assert ours["seeds"] == theirs["seeds"] == [0, 1, 2]
    assert ours["test_accuracy"] == theirs["test_accuracy"]
