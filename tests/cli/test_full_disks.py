"""Disks, pipes and files that take no more: exit code 2."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from vfl_flower.common.layout import LOG
from vfl_flower.common.names import party_log
from vfl_flower.config.run_config import RunConfig
from vfl_flower.reporting.console.lines import voices
from vfl_flower.runs.party_logs import party_logs
from vfl_flower.runs.run_folder import RunFolder

FULL = Path("/dev/full")
MISSING = not FULL.exists()
pytestmark = pytest.mark.skipif(MISSING, reason="needs /dev/full")


@pytest.mark.parametrize("arguments", [["--help"], ["data", "list"]])
def test_output_that_cannot_be_written_is_an_error(arguments: list[str]) -> None:
    with FULL.open("w") as full:
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "vfl_flower", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    reason = os.strerror(errno.ENOSPC)
    assert done.stderr.splitlines() == [f"error: standard output cannot be written: {reason}"]
    assert done.returncode == 2


def test_a_log_that_cannot_be_written_is_one_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run goes on, and ends with its result."""
    folder = RunFolder(tmp_path / "run", RunConfig())
    (folder.path / "party-1").mkdir(parents=True)
    (folder.path / "party-1" / LOG).symlink_to(FULL)
    with voices(1), party_logs(folder, 1):
        for line in range(3):
            party_log(1).info("line %d", line)
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [f"party-1: line {line}" for line in range(3)]
    (warning,) = shown.err.splitlines()
    assert warning.startswith(f"warning: {folder.path / 'party-1' / LOG} cannot be written")
