"""Bits that flip in state files: the same weights, or an error."""

import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.run_folders import NAMES, TINY, refused
from vfl_flower.common.errors import DamageError, Interrupted, RunError
from vfl_flower.common.layout import checkpoint_path, steps_kept
from vfl_flower.common.state import read_state, write_state
from vfl_flower.config.run_config import RunConfig

BEFORE, STOPPED = 7, 12


def flip(path: Path, bit: int) -> None:
    """Flip one bit, counted from the end of the file."""
    content = bytearray(path.read_bytes())
    content[-1 - bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


def weights(out: Path) -> list[bytes]:
    return [(out / name / "model" / "weights.safetensors").read_bytes() for name in NAMES]


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train until a stop with two sets of checkpoints."""
    out = tmp_path_factory.mktemp("half") / "run"
    with pytest.raises(Interrupted):
        Attempt(TINY, out).run(STOPPED)
    assert {tuple(steps_kept(out / name)) for name in NAMES} == {(BEFORE, STOPPED)}
    return out


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("unbroken") / "run"
    Attempt(TINY, out).run()
    return out


def test_each_flipped_bit_of_a_state_is_noticed_or_changes_nothing(tmp_path: Path) -> None:
    path, draw = tmp_path / "state", random.Random(0)  # noqa: S311  nothing is secret
    state: dict[str, Any] = {"w": torch.arange(6.0).reshape(2, 3), "step": 3, "b": b"ab"}
    write_state(path, state)
    content, noticed = path.read_bytes(), 0
    bits = [*range(24), *draw.sample(range(8 * len(content)), 200)]
    for bit in bits:
        flip(path, bit)
        try:
            read = read_state(path)
        except DamageError as error:
            noticed += str(path) in str(error)
        else:
            assert torch.equal(read.pop("w"), state["w"]) and read == {"step": 3, "b": b"ab"}
        path.write_bytes(content)
    assert noticed > 0.9 * len(bits)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_flipped_bit_in_a_checkpoint_goes_back_to_the_set_before(
    name: str,
    half: Path,
    unbroken: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    out = tmp_path / "run"
    shutil.copytree(half, out)
    flip(checkpoint_path(out / name, STOPPED), 12345)
    Attempt(TINY, out).run()
    assert f"{name}/checkpoint-{STOPPED:09d}.safetensors" in caplog.text
    assert weights(out) == weights(unbroken)


def test_a_flipped_bit_in_another_state_file_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cfg = TINY.changed(label_privacy="randomized-response", label_epsilon=2.0)
    with pytest.raises(Interrupted):
        Attempt(cfg, tmp_path / "half").run(2)
    for name in ("config.toml", "party-1/run.json", "active/noised-labels.safetensors"):
        out = tmp_path / name.replace("/", "-")
        shutil.copytree(tmp_path / "half", out)
        flip(out / name, 8 * 20)
        assert Path(name).name in refused(["--resume", str(out)], capsys)


def test_without_a_whole_set_a_run_says_what_to_put_back(half: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(half, out)
    flip(checkpoint_path(out / "party-1", STOPPED), 12345)
    flip(checkpoint_path(out / "party-2", BEFORE), 12345)
    with pytest.raises(RunError, match=r"party-2/checkpoint-000000007.*put it back, or start"):
        Attempt(TINY, out).run()


@pytest.mark.slow
def test_a_damaged_checkpoint_of_resting_parties_goes_back_to_their_first(tmp_path: Path) -> None:
    """The passive parties of PraVFed do nothing while the active party trains."""
    given: dict[str, Any] = {"models": "mlp", "epochs": 2, "batch_size": 52, "local_epochs": 1}
    cfg, whole, harmed = RunConfig(method="pravfed", **given), tmp_path / "a", tmp_path / "b"
    with pytest.raises(Interrupted):
        Attempt(cfg, whole).run(27)
    shutil.copytree(whole, harmed)
    flip(checkpoint_path(harmed / "party-1", 25), 12345)
    for out in (whole, harmed):
        Attempt(cfg, out).run()
    assert weights(whole) == weights(harmed)
