"""Run folders that are damaged or edited, refused in one line."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.outcomes.commands import train as run
from tests.helpers.outcomes.edits import edit
from tests.helpers.outcomes.run_folders import STEPS, assert_same_run, refused, unfinished
from vfl_flower.common.layout import checkpoint_path, steps_kept


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[:8] = b"\xff" * 8
    path.write_bytes(bytes(content))


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("party", "damage"),
    [
        *(("active", damage) for damage in (cut, flip, empty)),
        *(("party-2", damage) for damage in (cut, empty, Path.unlink)),
    ],
)
def test_a_damaged_checkpoint_goes_back_to_the_set_before(
    party: str,
    damage: Callable[[Path], None],
    whole: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = unfinished(whole, tmp_path / "run")
    damage(checkpoint_path(out / party, STEPS))
    capsys.readouterr()
    assert run(["--resume", str(out)]) == 0
    told = capsys.readouterr().err
    assert f"{party}/checkpoint-{STEPS:09d}.safetensors" in told and "missing or damaged" in told
    assert_same_run(out, whole)


def test_damaged_result_or_config_is_an_error(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("result.json", "config.toml"):
        out = tmp_path / name
        shutil.copytree(whole, out)
        (out / name).write_bytes((out / name).read_bytes()[:-3] + b"= {")
        capsys.readouterr()
        assert run(["--resume", str(out)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert name in line


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("mlp,lenet,mlp,mlp", "mlp,lenet,lenet,mlp", "models is"),
        ("seed = 0", "seed = 9", "seed is 0, not 9"),
        ('loss = ""', 'loss = "cross-entropy"', "loss is"),
        ('method = "easter"', 'method = "vfedmh"', "method is"),
        ("\nbatch-size = 128", "\nbatch-size = 64", "batch-size is 128, not 64"),
        ("embedding-dim = 8", "", "embedding-dim is 8, not 64"),
    ],
)
def test_an_edited_configuration_is_an_error(
    old: str, new: str, told: str, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The checkpoints know their run."""
    out = unfinished(whole, tmp_path / "run")
    edit(out / "config.toml", old, new)
    line = refused(["--resume", str(out)], capsys)
    assert "was written with another configuration" in line
    assert told in line
    assert not (out / "result.json").exists()


def test_a_checkpoint_in_anothers_place_is_an_error(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    earlier = steps_kept(whole / "party-3")[0]
    for party, step in (("party-2", STEPS), ("party-3", earlier)):
        out = unfinished(whole, tmp_path / party)
        shutil.copy(checkpoint_path(out / party, step), checkpoint_path(out / "party-3", STEPS))
        line = refused(["--resume", str(out)], capsys)
        assert f"was written by {party} at step {step}" in line


@pytest.mark.parametrize(
    "content", ["[]", "{}", "null", '{"test_accuracy": 1}', '{"unprotected": []}']
)
def test_a_result_that_is_none_is_an_error(
    content: str, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = unfinished(whole, tmp_path / "run")
    (out / "result.json").write_text(content)
    assert "result.json is damaged" in refused(["--resume", str(out)], capsys)
