"""Sweeps from Python, over data sets and tables in memory."""

from pathlib import Path
from typing import Any

import pytest

import vfl_flower as vfl
from tests.interface.conftest import Frames
from vfl_flower.common.errors import ConfigError, RunError
from vfl_flower.protocol.observer import Observer

pytest.importorskip("optuna")
TINY: dict[str, Any] = {"models": "linear", "epochs": 1, "batch_size": 700, "embedding_dim": 4}


def test_the_best_run_is_the_best_on_validation_rows(tmp_path: Path) -> None:
    over = {"lr": "log:1e-3..1e-1", "optimizers": ["adam", ("sgd",) * 4]}
    made = vfl.sweep("digits", over=over, trials=2, out=tmp_path / "sweep", **TINY)
    trials = made.trials
    assert list(trials["number"]) == [0, 1]
    best = trials.sort_values("validation_accuracy", ascending=False).iloc[0]
    assert made.best.path == tmp_path / "sweep" / best["folder"]
    assert made.best_options == {
        "learning_rates": best["learning_rates"],
        "optimizers": best["optimizers"],
    }
    assert made.best.config.optimizers == best["optimizers"]
    for few in (0, 1):
        with pytest.raises(ConfigError, match="trials"):
            made.resume(few)
    assert len(vfl.Sweep(tmp_path / "sweep").resume(trials=3).trials) == 3


def test_a_private_sweep_that_fails_says_why_and_names_no_folder_that_is_gone() -> None:
    with pytest.raises(RunError, match="batch-size") as failed:
        vfl.sweep("digits", over={"batch_size": [100000]}, trials=1, models="linear", epochs=1)
    assert "vfl-flower-" not in str(failed.value)


def test_tables_are_aligned_once_for_all_trials(frames: Frames) -> None:
    made = vfl.sweep(
        frames.tables(),
        over={"lr": [0.001, 0.1]},
        trials=2,
        method="splitnn",
        epochs=1,
        batch_size=16,
    )
    runs = [made.path / folder for folder in made.trials["folder"]]
    assert len(set(runs)) == 2
    assert (made.path / "alignment").is_dir()
    assert not [run for run in runs if list(run.glob("*/alignment*"))]
    assert 0 <= made.best.metrics["active"]["accuracy"] <= 1


def test_a_trial_is_saved_with_the_data_of_its_sweep(frames: Frames, tmp_path: Path) -> None:
    options: dict[str, Any] = {"method": "splitnn", "epochs": 1, "batch_size": 16}
    made = vfl.sweep(frames.tables(), over={"lr": [0.1]}, trials=1, **options)
    predicted = made.best.predict()
    made.best.save(tmp_path / "saved")
    gone = made.path
    del made
    assert not gone.exists()
    saved = vfl.load(tmp_path / "saved")
    assert saved.predict().equals(predicted)
    assert saved.resume().audit(epochs=1, known=3)["rows"]
    assert str(gone) not in (tmp_path / "saved" / "config.toml").read_text()


def test_ctrl_c_leaves_a_sweep_that_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Observer, "on_step", stop)
        with pytest.raises(KeyboardInterrupt) as stopped:
            vfl.sweep(
                "digits", over={"loss": ["cross-entropy"]}, trials=1, out=tmp_path / "sweep", **TINY
            )
    assert f"Sweep('{tmp_path / 'sweep'}').resume()" in stopped.value.__notes__[0]
    assert vfl.Sweep(tmp_path / "sweep").resume().best.complete


def test_a_wrong_space_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'embedding-dim'"):
        vfl.sweep("digits", over={"embeding_dim": [1]}, out=tmp_path / "sweep")
    assert not (tmp_path / "sweep").exists()


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"over": ["lr"]}, "over must say which values each option takes"),
        ({"over": {"lr": 0.1}}, "a list of values or a range for lr, not 0.1"),
        ({"over": {"lr": [None, 0.1]}}, "None among the values of lr"),
        ({"trials": "2"}, "trials must be a whole number, not '2'"),
    ],
)
def test_a_search_of_another_type_is_refused(wrong: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        vfl.sweep("digits", **{"over": {"lr": [0.1]}} | wrong)
