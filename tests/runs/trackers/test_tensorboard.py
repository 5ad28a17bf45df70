"""TensorBoard's event files hold the run's metrics, each once."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.outcomes.commands import train as run
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.transport.local import LocalTransport
from vfl_flower.workflows.build_parties import build_active
from vfl_flower.workflows.run import conduct

event_accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
SHORT = ["--epochs", "2", "--eval-every", "4", "--baselines", "off"]


def scalars(path: Path) -> dict[str, list[tuple[int, float]]]:
    """Read a run's scalars from TensorBoard's files."""
    events = event_accumulator.EventAccumulator(str(path / "tensorboard"))
    events.Reload()
    return {
        tag: [(event.step, event.value) for event in events.Scalars(tag)]
        for tag in events.Tags()["scalars"]
    }


def expected(path: Path) -> dict[str, list[tuple[int, Any]]]:
    """Read the same from the metrics."""
    lines = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    parties = ("active", "party-1", "party-2", "party-3")
    made = {
        f"{name}/{party}": [(line["step"], pytest.approx(line[name][party])) for line in lines]
        for name in ("train_loss", "train_accuracy", "validation_loss", "validation_accuracy")
        for party in parties
    }
    for name in ("exchanges", "bytes_up", "bytes_down"):
        made[f"traffic/{name}"] = [(line["step"], pytest.approx(line[name])) for line in lines]
    return made


@pytest.mark.slow
def test_events_are_the_metrics(tmp_path: Path) -> None:
    assert run([*SHORT, "--tensorboard", "--out", str(tmp_path / "run")]) == 0
    assert scalars(tmp_path / "run") == expected(tmp_path / "run")
    assert (tmp_path / "run" / "tensorboard").stat().st_mode & 0o777 == 0o700


@pytest.mark.slow
def test_a_resumed_run_has_each_event_once(tmp_path: Path) -> None:
    path = tmp_path / "run"
    assert run([*SHORT, "--tensorboard", "--out", str(path)]) == 0
    (path / "result.json").unlink()  # as if it had ended after the last epoch's first half
    for party in ("active", "party-1", "party-2", "party-3"):
        (path / party / "checkpoint-000000022.safetensors").unlink()
    assert run(["--resume", str(path)]) == 0
    assert len(list((path / "tensorboard").iterdir())) == 2
    assert scalars(path) == expected(path)


@pytest.mark.slow
def test_a_run_that_is_resumed_with_it_has_its_earlier_events_too(tmp_path: Path) -> None:
    path = tmp_path / "run"
    assert run([*SHORT, "--out", str(path)]) == 0
    (path / "result.json").unlink()
    for party in ("active", "party-1", "party-2", "party-3"):
        (path / party / "checkpoint-000000022.safetensors").unlink()
    assert run(["--resume", str(path), "--tensorboard"]) == 0
    assert scalars(path) == expected(path)


@pytest.mark.slow
def test_a_file_in_the_way_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run"
    assert run([*SHORT, "--out", str(path)]) == 0
    (path / "result.json").unlink()
    (path / "tensorboard").write_text("")
    assert run(["--resume", str(path), "--tensorboard"]) == 2
    assert "tensorboard cannot be written" in capsys.readouterr().err


def test_it_is_off_unless_asked_for(tmp_path: Path) -> None:
    assert run([*SHORT, "--out", str(tmp_path / "run")]) == 0
    assert not (tmp_path / "run" / "tensorboard").exists()


def test_a_missing_package_is_told_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    for more in ([], ["--seeds", "2"]):
        assert run([*SHORT, *more, "--tensorboard", "--out", str(tmp_path / "run")]) == 2
        assert "pip install 'vfl-flower[tensorboard]'" in capsys.readouterr().err
        assert not (tmp_path / "run").exists()


def test_without_a_folder_there_is_nowhere_to_write() -> None:
    active = build_active(RunConfig(tensorboard=True))
    with pytest.raises(ConfigError, match="no folder"):
        conduct(active, LocalTransport([]))
