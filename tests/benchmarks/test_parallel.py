"""Speedup of programs side by side."""

import sys
from pathlib import Path

import pytest

from benchmarks.harness import parallel
from benchmarks.harness.parallel import gain, measured

WORK = """
import fcntl, sys, time
for line in sys.stdin:
    with open(sys.argv[0]) as file:
        {lock}
        time.sleep(int(line) * 2e-4)
    print("done", flush=True)
"""


def replace_work(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "work.py"
    path.write_text(text)
    monkeypatch.setattr(parallel, "COMMAND", (sys.executable, str(path)))


@pytest.mark.slow
@pytest.mark.parametrize("programs", [2, 4])
def test_independent_programs_gain_their_number(
    programs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_work(WORK.format(lock="pass"), tmp_path, monkeypatch)
    assert measured(programs, 0.1, 3) > 0.6 * programs


@pytest.mark.slow
def test_programs_that_share_something_gain_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_work(WORK.format(lock="fcntl.flock(file, fcntl.LOCK_EX)"), tmp_path, monkeypatch)
    assert measured(2, 0.1, 3) < 1.5


def test_a_program_that_ends_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_work("import sys; sys.stdin.readline()", tmp_path, monkeypatch)
    with pytest.raises(RuntimeError, match="has ended"):
        measured(2, 0.1, 1)


def test_machine_is_measured_once_a_process() -> None:
    found = gain(2, tiny=True)
    assert found > 0
    assert gain(2, tiny=True) == found
