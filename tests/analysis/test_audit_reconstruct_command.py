"""The command that draws reconstructed tiles, and its refusals."""

import json
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from tests.helpers.outcomes.attacked_runs import (
    PASSIVE,
)
from tests.helpers.outcomes.commands import audit as run
from tests.helpers.outcomes.commands import train as simulate
from vfl_flower.analysis.audit.pictures import line


@pytest.fixture
def copied(attacked_root: Path, tmp_path: Path) -> Path:
    """Return a copy of a run that a test may change."""
    return Path(shutil.copytree(attacked_root / "early", tmp_path / "run"))


@pytest.mark.slow
def test_command_tells_writes_and_draws(
    attacked_root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.stat().st_mtime_ns for path in attacked_root.rglob("*")}
    chosen = [str(attacked_root / "early"), str(attacked_root / "late")]
    drawn = tmp_path / "a.png"
    outputs = ["--json", "--pictures", str(drawn)]
    assert run(["reconstruct", *chosen, "--epochs", "2", *outputs]) == 0
    assert {path: path.stat().st_mtime_ns for path in attacked_root.rglob("*")} == before
    printed = capsys.readouterr()
    table, told = printed.err, json.loads(printed.out)
    assert [each["run"] for each in told] == chosen
    assert [each["party"] for each in told[0]["found"]] == ["active", *PASSIVE]
    for each in told:
        assert each["epochs"] == 2
        assert each["cut"] in table
        for finding in each["found"]:
            assert f"{finding['made']['psnr']:.2f}" in table
            assert f"{finding['mean']['ssim']:.3f}" in table
    assert stat.S_IMODE(drawn.stat().st_mode) == 0o600
    with Image.open(drawn) as image:
        assert image.format == "PNG"
        assert len(image.convert("RGB").getcolors(1 << 20) or []) > 20


@pytest.mark.parametrize(("channels", "shape"), [(1, (5, 15)), (2, (5, 15)), (3, (5, 15, 3))])
def test_tiles_are_drawn_side_by_side_in_grey_or_colour(
    channels: int, shape: tuple[int, ...]
) -> None:
    tiles = torch.rand(3, channels, 4, 4)
    strip = line(tiles)
    assert strip.shape == shape
    first, last = tiles[0].permute(1, 2, 0), tiles[2].permute(1, 2, 0)
    for at, tile in ((0, first), (10, last)):
        expected = tile if channels == 3 else tile[..., 0]
        assert np.array_equal(strip[:4, at : at + 4], expected)
    assert (strip[4] == 1).all()


def unfinish(path: Path) -> None:
    (path / "result.json").unlink()


def damage_result(path: Path) -> None:
    (path / "result.json").write_text("{}")


def leave_out(path: Path) -> None:
    (path / "party-2" / "model/weights.safetensors").unlink()


def damage_weights(path: Path) -> None:
    (path / "party-2" / "model/weights.safetensors").write_bytes(b"nothing")


def take_anothers(path: Path) -> None:
    shutil.copytree(path / "active" / "model", path / "party-2" / "model", dirs_exist_ok=True)


def forget(path: Path) -> None:
    shutil.rmtree(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (unfinish, "is not complete"),
        (damage_result, "is damaged, or of another version"),
        (leave_out, "weights.safetensors is missing; the folders of all parties"),
        (damage_weights, "missing or damaged"),
        (take_anothers, "is of active, not of party-2"),
        (forget, "holds no run"),
    ],
)
def test_runs_that_cannot_be_attacked_are_refused_and_nothing_is_written(
    change: Callable[[Path], None],
    says: str,
    copied: Path,
    attacked_root: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    change(copied)
    before = sorted(copied.parent.rglob("*"))
    outputs = ["--json", "--pictures", str(copied.parent / "a.png")]
    chosen = [str(copied), str(attacked_root / "late")]
    assert run(["reconstruct", *chosen, "--epochs", "1", *outputs]) == 2
    assert says in capsys.readouterr().err
    assert sorted(copied.parent.rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "--epochs", "0"], "--epochs must be at least 1"),
        (["run", "--epochs", "1", "--pictures", "run"], "run cannot be written"),
        (["run", "--known", "3"], "No such option"),
        ([], "RUN"),
    ],
)
def test_what_cannot_be_done_is_refused(
    arguments: list[str],
    says: str,
    copied: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(copied.parent)
    before = sorted(copied.parent.rglob("*"))
    assert run(["reconstruct", *arguments]) == 2
    assert says in capsys.readouterr().err
    assert sorted(copied.parent.rglob("*")) == before


def test_methods_without_maps_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--method", "splitnn", "--models", "mlp", "--epochs", "1", "--baselines", "off"]
    assert simulate([*flags, "--out", str(tmp_path / "run")]) == 0
    assert run(["reconstruct", str(tmp_path / "run")]) == 2
    told = capsys.readouterr().err
    assert "with splitnn no feature maps are sent; they are with adptvfedconv" in told
