"""No process of a deployment outlives it."""

import contextlib
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow


def test_a_deployment_that_is_stopped_leaves_no_process(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "deploy.local", "--nodes", "2", "--keep", str(tmp_path)]
    local = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE)  # noqa: S603
    deadline = time.monotonic() + 240
    while len(processes_in(tmp_path)) < 3 and time.monotonic() < deadline:
        time.sleep(0.2)
    assert len(processes_in(tmp_path)) >= 3
    local.terminate()
    assert b"interrupted" in local.communicate(timeout=240)[1]
    assert local.returncode == 143
    assert processes_in(tmp_path) == []


def processes_in(folder: Path) -> list[str]:
    """Return the processes that work in a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile, or is not ours
            if (process / "cwd").resolve() == folder:
                found.append(process.name)
    return found
