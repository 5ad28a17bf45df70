"""Killed benchmarks leave no process behind."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.benchmarks.reproducing.made import words

WAIT = 60


def children(process: int) -> list[int]:
    return [
        int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()
    ]


def await_that(there: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT
    while not there():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_workers_stop_with_the_command(number: signal.Signals, tmp_path: Path) -> None:
    """A run that would take days is kept for the next time."""
    folders = words(tmp_path)
    command = [sys.executable, "-m", "tests.benchmarks.reproducing.endless", *folders]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:  # noqa: S603  our own
        await_that(lambda: any(tmp_path.glob("out/*/active/checkpoint-*[1-9].safetensors")))
        workers = children(process.pid)
        process.send_signal(number)
        code = process.wait(WAIT)
    assert code == (-number if number == signal.SIGKILL else 128 + number)
    assert workers
    await_that(lambda: not any(Path(f"/proc/{each}").exists() for each in workers))
    assert not [*tmp_path.glob("results/*/*.json")]
    (folder,) = (tmp_path / "out").iterdir()
    assert (folder / "config.toml").is_file() and not (folder / "result.json").exists()


@pytest.mark.slow
def test_servers_end_with_the_command(tmp_path: Path) -> None:
    """A SuperLink, SuperNodes, and whatever these start."""
    given = ["--tiny", "--runtimes", "superlink", "--out", str(tmp_path)]
    command = [sys.executable, "-m", "benchmarks.runtimes", *given]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:  # noqa: S603  our own
        await_that(lambda: any("flower-supernode" in each for each in those_of(tmp_path)))
        process.terminate()
    await_that(lambda: not those_of(tmp_path))


def those_of(folder: Path) -> list[str]:
    """Return the commands of processes that name a folder."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended meanwhile
            found.append(each.read_bytes().replace(b"\0", b" ").decode())
    return [each for each in found if str(folder) in each and "benchmarks.runtimes" not in each]
