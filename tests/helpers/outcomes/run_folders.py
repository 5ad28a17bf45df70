"""Run folders that tests interrupt, damage and compare."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.outcomes.commands import train as run
from vfl_flower.config.run_config import RunConfig

NAMES = ["active", "party-1", "party-2", "party-3"]
PER_EPOCH, EPOCHS = 11, 4
STEPS = PER_EPOCH * EPOCHS
FLAGS = [
    *("--epochs", str(EPOCHS), "--batch-size", "128", "--embedding-dim", "8", "--eval-every", "1"),
    *("--models", "mlp,lenet,mlp,mlp", "--optimizers", "adam,momentum,adagrad,sgd"),
    *("--schedule", "cosine", "--baselines", "off"),
]
TINY = RunConfig(models="mlp", epochs=3, batch_size=200, baselines="off", eval_every=4)


def lines_of(folder: Path) -> list[dict[str, Any]]:
    """Return the metrics without the seconds."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    for line in lines:
        assert line.pop("seconds") > 0
    return lines


def assert_same_run(ours: Path, theirs: Path) -> None:
    for name in NAMES:
        a, b = (folder / name / "model/weights.safetensors" for folder in (ours, theirs))
        assert a.read_bytes() == b.read_bytes(), name
    assert lines_of(ours) == lines_of(theirs)
    results = [json.loads((folder / "result.json").read_text()) for folder in (ours, theirs)]
    for key in ("test_accuracy", "exchanges", "bytes_by_phase", "uploads_per_party", "evaluation"):
        assert results[0][key] == results[1][key], key


def refused(command: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return the one line of a command that is refused."""
    capsys.readouterr()
    assert run(command) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    return line


def unfinished(whole: Path, out: Path) -> Path:
    """Copy a run whose result is not written yet."""
    shutil.copytree(whole, out)
    (out / "result.json").unlink()
    return out
