"""Devices: a missing GPU is refused."""

from pathlib import Path

import pytest
import torch

from tests.helpers.outcomes.commands import train as run
from vfl_flower.common.errors import ConfigError, NetworkError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.device import described, device_of
from vfl_flower.workflows.build_parties import build_active, build_passive


def test_a_gpu_that_is_not_there_is_refused_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--device", "cuda", "--out", str(tmp_path / "run")]) == 2
    assert "finds no NVIDIA GPU" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_every_party_refuses_for_itself() -> None:
    cfg = RunConfig(device="cuda")
    with pytest.raises(NetworkError, match=r"^active: device is cuda"):
        build_active(cfg)
    with pytest.raises(NetworkError, match=r"^party-2: device is cuda"):
        build_passive(cfg, 2)
    with pytest.raises(ConfigError):
        device_of("cuda")


def test_auto_is_the_processor_where_there_is_no_gpu() -> None:
    assert device_of("auto") == device_of("cpu") == torch.device("cpu")
    assert described(device_of("auto")) == "cpu"


def test_another_device_is_no_other_run() -> None:
    cpu, cuda = RunConfig(device="cpu"), RunConfig(device="cuda")
    assert cpu.identity() == cuda.identity()
