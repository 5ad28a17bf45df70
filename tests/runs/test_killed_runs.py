"""Runs in a process of their own, killed or interrupted, and resumed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.outcomes.commands import train as run
from tests.helpers.outcomes.run_folders import (
    EPOCHS,
    FLAGS,
    NAMES,
    PER_EPOCH,
    STEPS,
    assert_same_run,
    lines_of,
)
from vfl_flower.common.layout import steps_kept

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


def interrupted(
    out: Path, number: signal.Signals, ready: Callable[[], bool], again: float | None = None
) -> int:
    """Run in a separate process, signal at `ready`, return the exit code.

    With `again`, signal it once more after so many seconds.
    """
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, str(ROOT / "run_simulation.py"), *FLAGS, "--out", str(out)],
        stdout=subprocess.DEVNULL,  # errors are shown where a test fails
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
    [
        PER_EPOCH + 4,
        *(pytest.param(lines, marks=pytest.mark.slow) for lines in (1, 2 * PER_EPOCH + 1)),
    ],
)
def test_killed_run_resumes_bit_for_bit(lines: int, whole: Path, tmp_path: Path) -> None:
    """Killed before the first checkpoint, within an epoch, and around a checkpoint."""
    out = tmp_path / "run"
    assert interrupted(out, signal.SIGKILL, lines_written(out, lines)) == -signal.SIGKILL
    assert not (out / "result.json").exists()
    assert len(lines_of(out)) < STEPS
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
