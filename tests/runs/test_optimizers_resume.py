"""A killed run with every optimizer, one a party, ends as uninterrupted."""

import shutil
from pathlib import Path

import pytest

from tests.helpers.outcomes.commands import train as run
from vfl_flower.common.layout import checkpoint_path, steps_kept
from vfl_flower.common.names import party_name
from vfl_flower.config.optimization.optimizers import OPTIMIZERS

NAMES = [party_name(rank) for rank in range(len(OPTIMIZERS))]
FLAGS = [
    *("--partition", "columns", "--parties", str(len(OPTIMIZERS)), "--models", "linear"),
    *("--optimizers", ",".join(OPTIMIZERS), "--schedule", "cosine:warmup=40%"),
    *("--epochs", "3", "--batch-size", "600", "--embedding-dim", "4", "--baselines", "off"),
]


def weights(run_folder: Path) -> dict[str, bytes]:
    path = "model/weights.safetensors"
    return {name: (run_folder / name / path).read_bytes() for name in NAMES}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train without an interruption."""
    out = tmp_path_factory.mktemp("optimizers") / "run"
    assert run([*FLAGS, "--out", str(out)]) == 0
    return out


@pytest.mark.slow
def test_every_optimizer_goes_on_after_a_kill(whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(whole, out)
    (out / "result.json").unlink()
    for name in NAMES:
        (out / name / "model/weights.safetensors").unlink()
    first, last = steps_kept(out / "active")
    checkpoint_path(out / "active", last).unlink()
    assert 0 < first < last
    assert run(["--resume", str(out)]) == 0
    assert weights(out) == weights(whole)
