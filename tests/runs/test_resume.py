"""A run that was killed, stopped or finished goes on from its folder as if nothing had happened."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flwr.common import NDArrays, Scalar

from tests.helpers.attempts import Sitting
from tests.helpers.commands import train as run
from vfl_flower.common.errors import Interrupted, RosterError
from vfl_flower.common.layout import checkpoint_path, steps_kept
from vfl_flower.common.state import read_state
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.loading import load_party
from vfl_flower.parties.persistence.checkpoints import read_checkpoint, write_checkpoint
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.transport.local import LocalTransport
from vfl_flower.workflows.build_learner import build_learner
from vfl_flower.workflows.run import conduct

ROOT = Path(__file__).resolve().parents[2]
NAMES = ["active", "party-1", "party-2", "party-3"]
PER_EPOCH, EPOCHS = 11, 4
STEPS = PER_EPOCH * EPOCHS
FLAGS = [
    *("--epochs", str(EPOCHS), "--batch-size", "128", "--embedding-dim", "8", "--eval-every", "1"),
    *("--models", "mlp,lenet,mlp,mlp", "--optimizers", "adam,momentum,adagrad,sgd"),
    *("--schedule", "cosine", "--bounds", "off"),
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train without an interruption."""
    out = tmp_path_factory.mktemp("whole") / "run"
    assert run([*FLAGS, "--out", str(out)]) == 0
    return out


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


def interrupted(
    out: Path, number: signal.Signals, ready: Callable[[], bool], again: float | None = None
) -> int:
    """Start the run in its own process, signal it when `ready`, return its exit code.

    With `again`, signal it once more after so many seconds.
    """
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, str(ROOT / "run_simulation.py"), *FLAGS, "--out", str(out)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 90
        while not ready():
            assert process.poll() is None, "the run ended before it could be interrupted"
            assert time.monotonic() < deadline
            time.sleep(0.001)
        os.kill(process.pid, number)
        if again is not None:
            time.sleep(again)
            os.kill(process.pid, number)
        return process.wait(60)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def lines_written(out: Path, count: int) -> Callable[[], bool]:
    def ready() -> bool:
        path = out / "metrics.jsonl"
        return path.exists() and path.read_bytes().count(b"\n") >= count

    return ready


@pytest.mark.parametrize(
    "lines",
    [1, PER_EPOCH + 4, pytest.param(2 * PER_EPOCH + 1, marks=pytest.mark.slow)],
)
def test_killed_run_resumes_bit_for_bit(lines: int, whole: Path, tmp_path: Path) -> None:
    """Killed before the first checkpoint, within an epoch, and about when a checkpoint is due."""
    out = tmp_path / "run"
    assert interrupted(out, signal.SIGKILL, lines_written(out, lines)) == -signal.SIGKILL
    assert not (out / "result.json").exists()
    assert len(lines_of(out)) < STEPS
    assert run(["--resume", str(out)]) == 0
    assert_same_run(out, whole)


def test_killed_between_the_parties_checkpoints(whole: Path, tmp_path: Path) -> None:
    """Passive parties are a checkpoint ahead of the active one: all go back to its last."""
    out = tmp_path / "run"
    shutil.copytree(whole, out)
    (out / "result.json").unlink()
    for name in NAMES:
        (out / name / "model/weights.safetensors").unlink()
    last = steps_kept(out / "active")
    assert last == [STEPS - PER_EPOCH, STEPS]
    checkpoint_path(out / "active", STEPS).unlink()
    assert run(["--resume", str(out)]) == 0
    assert_same_run(out, whole)


def test_killed_between_weights_and_result(whole: Path, tmp_path: Path) -> None:
    """All trained, nothing to train: the result comes out the same, without a double count."""
    out = tmp_path / "run"
    shutil.copytree(whole, out)
    (out / "result.json").unlink()
    assert run(["--resume", str(out)]) == 0
    assert_same_run(out, whole)


def test_a_second_interrupt_ends_at_once_and_in_order(tmp_path: Path) -> None:
    """While parties compute: the process must not abort on their threads."""
    for number in range(2):
        out = tmp_path / str(number)
        assert interrupted(out, signal.SIGINT, lines_written(out, 2), again=0.015) == 130


def test_interrupt_leaves_a_checkpoint_at_the_very_step(whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert interrupted(out, signal.SIGINT, lines_written(out, PER_EPOCH + 5)) == 130
    steps = [steps_kept(out / name)[-1] for name in NAMES]
    assert set(steps) == {len(lines_of(out))}
    assert PER_EPOCH + 5 <= steps[0] < STEPS
    assert not (out / "result.json").exists()
    assert run(["--resume", str(out), "--epochs", str(EPOCHS)]) == 0
    assert_same_run(out, whole)


# In this process, stopped at a chosen step ----------------------------------------------------


TINY = RunConfig(models="mlp", epochs=3, batch_size=200, bounds="off", eval_every=4)


@pytest.mark.parametrize(("stops", "every"), [([3], 1), ([7], 1), ([2, 3, 11], 1), ([9, 16], 3)])
def test_stopped_runs_equal_an_unbroken_one(stops: list[int], every: int, tmp_path: Path) -> None:
    """Once or often, within and at the end of epochs, with seven steps an epoch."""
    cfg = replace(TINY, checkpoint_every=every)
    Sitting(cfg, tmp_path / "unbroken").run()
    for step in stops:
        with pytest.raises(Interrupted, match=f"step {step};"):
            Sitting(cfg, tmp_path / "broken").run(step)
        assert steps_kept(tmp_path / "broken" / "active")[-1] == step
    Sitting(cfg, tmp_path / "broken").run()
    for name in NAMES:
        paths = [
            tmp_path / out / name / "model/weights.safetensors" for out in ("unbroken", "broken")
        ]
        assert paths[0].read_bytes() == paths[1].read_bytes(), name
    lines = [lines_of(tmp_path / out) for out in ("unbroken", "broken")]
    for line in [*lines[0], *lines[1]]:
        del line["bytes_down"]  # see the next test
    assert lines[0] == lines[1]


def test_exchange_numbers_grow_over_all_sittings(tmp_path: Path) -> None:
    """The second sitting goes on where the checkpoint's ended: no number ever comes back."""
    with pytest.raises(Interrupted):
        Sitting(TINY, tmp_path / "run").run(3)
    again = Sitting(TINY, tmp_path / "run")
    earlier = read_checkpoint(again.active, 3)["exchange"]
    numbers: list[int] = []
    party = again.passive[0]
    fit = party.fit

    def noted(parameters: NDArrays, config: dict[str, Scalar]) -> Any:
        numbers.append(int(config["exchange"]))
        return fit(parameters, config)

    party.fit = noted  # type: ignore[method-assign]
    again.run()
    assert earlier > 6
    assert numbers == list(range(earlier + 1, earlier + 1 + len(numbers)))


def test_checkpoints_of_later_steps_do_not_push_out_a_new_one(tmp_path: Path) -> None:
    """A folder may hold later steps, of a sitting that was taken back."""
    member = build_learner(TINY, load_party(TINY, 1), tmp_path)
    for step in (2000, 2200, 11, 12, 13):
        write_checkpoint(member, step, {})
    assert steps_kept(tmp_path) == [12, 13, 2000, 2200]


def test_stop_within_an_epoch_does_not_change_the_books(tmp_path: Path) -> None:
    """A tell that rides on the checkpoint costs training as much as one that rides on a step."""
    Sitting(TINY, tmp_path / "unbroken").run()
    with pytest.raises(Interrupted):
        Sitting(TINY, tmp_path / "broken").run(3)
    Sitting(TINY, tmp_path / "broken").run()
    ours, theirs = (lines_of(tmp_path / out) for out in ("broken", "unbroken"))
    assert [line["bytes_down"] for line in ours] == [line["bytes_down"] for line in theirs]


def test_keys_are_in_no_checkpoint(whole: Path) -> None:
    """Whoever steals a checkpoint cannot unmask what was sent; and two checkpoints are kept."""
    for name in NAMES[1:]:
        paths = sorted((whole / name).glob("checkpoint-*"))
        assert len(paths) == 2
        for path in paths:
            content = read_state(path)
            assert set(content) == {"header", "state"}
            assert set(content["header"]) == {"party", "step", "run"}
            assert set(content["state"]) == {"net", "optimizer", "randomness", "best", "privacy"}
            noiseless: dict[str, object] = {"counts": None, "sent": None}
            assert content["state"]["privacy"] == noiseless
            assert b"secret" not in path.read_bytes()
            assert path.stat().st_mode & 0o777 == 0o600


def test_complete_run_is_shown_and_left_alone(
    whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {p: p.stat().st_mtime_ns for p in whole.rglob("*") if p.is_file()}
    assert run(["--resume", str(whole)]) == 0
    assert {p: p.stat().st_mtime_ns for p in whole.rglob("*") if p.is_file()} == before
    shown = capsys.readouterr().out
    assert "complete already" in shown
    assert "test accuracy" in shown
    assert "epoch 1" not in shown


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[:8] = b"\xff" * 8
    path.write_bytes(bytes(content))


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [cut, flip, empty, Path.unlink])
@pytest.mark.parametrize("party", ["active", "party-2"])
def test_damaged_checkpoint_is_an_error(
    party: str,
    damage: Callable[[Path], None],
    whole: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "run"
    shutil.copytree(whole, out)
    (out / "result.json").unlink()
    if party == "active" and damage is Path.unlink:
        pytest.skip("then the one before it is the last")
    damage(checkpoint_path(out / party, STEPS))
    capsys.readouterr()
    assert run(["--resume", str(out)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert "missing or damaged" in line
    assert f"{party}/checkpoint-{STEPS:09d}.safetensors" in line
    assert not (out / "result.json").exists()


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
    """The checkpoints know what run they are of."""
    out = unfinished(whole, tmp_path / "run")
    text = (out / "config.toml").read_text()
    assert text.count(old) == 1
    (out / "config.toml").write_text(text.replace(old, new))
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


def test_circumstances_may_change_at_a_resume(whole: Path, tmp_path: Path) -> None:
    """Data that has moved, or a longer wait: the run is the same, and remembers the new place."""
    out = unfinished(whole, tmp_path / "run")
    moved = ["--data-dir", str(tmp_path / "moved"), "--party-timeout", "5", "--no-download"]
    assert run(["--resume", str(out), *moved]) == 0
    assert_same_run(out, whole)
    assert f'data-dir = "{tmp_path}/moved"' in (out / "config.toml").read_text()


def test_a_run_that_goes_on_is_not_resumed_beside_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = RunFolder(tmp_path / "run", RunConfig(models="mlp", epochs=1, bounds="off"))
    folder.begin()
    assert "another process works in" in refused(["--resume", str(folder.path)], capsys)
    folder.end()
    assert run(["--resume", str(folder.path)]) == 0


def test_several_seeds_are_resumed_as_a_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--epochs", "2", "--models", "mlp", "--batch-size", "400", "--bounds", "off"]
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for out in (whole, broken):
        assert run([*flags, "--seeds", "3", "--out", str(out)]) == 0
    (broken / "result.json").unlink()
    (broken / "seed-1" / "result.json").unlink()  # stopped at its end
    shutil.rmtree(broken / "seed-2")  # not begun
    capsys.readouterr()
    assert run(["--resume", str(broken)]) == 0
    assert f"{broken / 'seed-0'} was complete already" in capsys.readouterr().out
    ours, theirs = (json.loads((out / "result.json").read_text()) for out in (broken, whole))
    assert ours["seeds"] == theirs["seeds"] == [0, 1, 2]
    assert ours["test_accuracy"] == theirs["test_accuracy"]


def test_a_run_that_never_began_leaves_no_folder(tmp_path: Path) -> None:
    attempt = Sitting(TINY, tmp_path / "run")

    attempt.active.patience = 0.1
    with pytest.raises(RosterError, match="missing"):
        conduct(attempt.active, LocalTransport(attempt.passive[:2]), attempt.folder)
    assert not (tmp_path / "run").exists()
