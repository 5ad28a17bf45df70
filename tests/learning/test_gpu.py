"""Runs on a GPU agree with those on the processor."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import GPUS

ROOT = Path(__file__).resolve().parents[2]


def with_gpu(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Run Python in a process that may see the machine's GPUs."""
    environment = {k: v for k, v in os.environ.items() if k != "CUDA_VISIBLE_DEVICES"}
    if GPUS is not None:
        environment["CUDA_VISIBLE_DEVICES"] = GPUS
    return subprocess.run(  # noqa: S603
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def finds_gpu() -> bool:
    """Tell whether torch can use a GPU of this machine."""
    if shutil.which("nvidia-smi") is None:
        return False
    return with_gpu(["-c", "import torch; assert torch.cuda.is_available()"]).returncode == 0


if not finds_gpu():
    pytest.skip("there is no NVIDIA GPU that torch can use", allow_module_level=True)

OWN_NET = "tests.helpers.networks:own_dropout"
TRAIN = ["run_simulation.py", "--epochs", "3", "--baselines", "on", "--models", "cnn,lenet,mlp,mlp"]


def trained(path: Path, *arguments: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Train in a separate process; return the result and the metrics."""
    done = with_gpu([*TRAIN, *arguments, "--out", str(path)])
    assert done.returncode == 0, done.stderr
    lines = (path / "metrics.jsonl").read_text().splitlines()
    return json.loads((path / "result.json").read_text()), [json.loads(line) for line in lines]


@pytest.mark.parametrize("method", ["easter", "vfedmh"])
def test_a_gpu_comes_to_the_same_within_rounding(tmp_path: Path, method: str) -> None:
    result, metrics = trained(tmp_path / "gpu", "--device", "cuda", "--method", method)
    expected, reference = trained(tmp_path / "cpu", "--device", "cpu", "--method", method)
    assert result["device"].startswith("cuda (")
    for here, there in zip(metrics, reference, strict=True):
        assert here["train_loss"] == pytest.approx(there["train_loss"], rel=1e-3)
        assert here["bytes_up"] == there["bytes_up"]
    assert result["test_accuracy"] == pytest.approx(expected["test_accuracy"], abs=0.02)
    assert result["baselines"] == pytest.approx(expected["baselines"], abs=0.02)


def test_a_gpu_repeats_itself_to_the_bit(tmp_path: Path) -> None:
    _, first = trained(tmp_path / "first", "--device", "cuda")
    _, again = trained(tmp_path / "again", "--device", "cuda")
    assert [m["train_loss"] for m in first] == [m["train_loss"] for m in again]


AMNESIA = """
import sys
from functools import partial

import torch

from vfl_flower.workflows.build_parties import build_active, build_passive
from vfl_flower.config.run_config import RunConfig
from vfl_flower.transport.local import run_amnesiac, run_local

cfg = RunConfig(device=sys.argv[1], epochs=1, models="tests.helpers.networks:global_dropout")
live, rebuilt = build_active(cfg), build_active(cfg)
run_local(live, [build_passive(cfg, k) for k in range(1, 4)])
run_amnesiac(rebuilt, partial(build_passive, cfg))
assert live.x.device.type == sys.argv[1]
for a, b in zip(live.net.parameters(), rebuilt.net.parameters(), strict=True):
    assert torch.equal(a, b)
"""


def test_a_rebuilt_party_on_a_gpu_comes_to_the_same_bits() -> None:
    done = with_gpu(["-c", AMNESIA, "cuda"])
    assert done.returncode == 0, done.stderr


def test_a_run_from_a_gpu_goes_on_without_one(tmp_path: Path) -> None:
    """From the checkpoint before the last, with every optimizer and BatchNorm."""
    flags = ["--optimizers", "adam,momentum,adagrad,adam", "--models", OWN_NET]
    result, _ = trained(tmp_path / "run", "--device", "cuda", *flags)
    (tmp_path / "run" / "result.json").unlink()
    for party in ("active", "party-1", "party-2", "party-3"):
        max((tmp_path / "run" / party).glob("checkpoint-*")).unlink()
    resumed = with_gpu(["run_simulation.py", "--resume", str(tmp_path / "run"), "--device", "cpu"])
    assert resumed.returncode == 0, resumed.stderr
    after = json.loads((tmp_path / "run" / "result.json").read_text())
    assert after["test_accuracy"] == pytest.approx(result["test_accuracy"], abs=0.02)
