"""The command that draws reconstructed tiles, and its refusals."""

import json
import shutil
import stat
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.commands import audit as run
from tests.helpers.outcomes.commands import train as simulate
from vfl_flower.analysis.audit.feature_reconstruction import (
    Findings,
    attack,
    runs_with_maps,
)
from vfl_flower.analysis.audit.pictures import line
from vfl_flower.config.run_config import RunConfig
from vfl_flower.runs.run_folder import RunFolder

SMALL = RunConfig(
    method="adptvfedconv",
    partition="grid:2x2",
    models="vgg16_bn",
    cut="1C",
    width=0.1,
    pretrain_epochs=1,
    local_epochs=1,
    epochs=1,
    baselines="off",
)
RUNS = {"early": SMALL, "late": SMALL.changed(cut="2C+1M")}
NOISED = replace(SMALL, dp_sigma=1.0, dp_clip=10.0)
OTHERWISE = {
    "early": SMALL,
    "coarse": SMALL.changed(compression="quantize:1"),
    "noised": NOISED,
    "noised in training": replace(NOISED, dp_eval="clear"),
}
"""Ways to send the maps of one and the same networks, those of the early cut."""

PASSIVE = ("party-1", "party-2", "party-3")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a complete run of each kind."""
    root = tmp_path_factory.mktemp("attacked")
    for name, cfg in RUNS.items():
        Attempt(cfg, root / name).run()
    return root


@pytest.fixture
def copied(runs: Path, tmp_path: Path) -> Path:
    """Return a copy of a run that a test may change."""
    return Path(shutil.copytree(runs / "early", tmp_path / "run"))


@cache
def attacked(path: Path) -> Findings:
    [folder] = runs_with_maps([path])
    return attack(folder, epochs=20)[0]


def sent(path: Path, way: str) -> RunFolder:
    """Return a run as if its maps had been sent differently."""
    return RunFolder(path, OTHERWISE[way], fresh=False)


def test_command_tells_writes_and_draws(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.stat().st_mtime_ns for path in runs.rglob("*")}
    chosen = [str(runs / "early"), str(runs / "late")]
    drawn = tmp_path / "a.png"
    outputs = ["--json", "--pictures", str(drawn)]
    assert run(["reconstruct", *chosen, "--epochs", "2", *outputs]) == 0
    assert {path: path.stat().st_mtime_ns for path in runs.rglob("*")} == before
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
    runs: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    change(copied)
    before = sorted(copied.parent.rglob("*"))
    outputs = ["--json", "--pictures", str(copied.parent / "a.png")]
    chosen = [str(copied), str(runs / "late")]
    assert run(["reconstruct", *chosen, "--epochs", "1", *outputs]) == 2
    assert says in capsys.readouterr().err
    assert sorted(copied.parent.rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "--epochs", "0"], "--epochs must be at least 1"),
        (["run", "--epochs", "1", "--pictures", "run"], "run cannot be written"),
        (["run", "--known", "3"], "No such option '--known'"),
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
