"""Ctrl-C and SIGTERM, from the start of a command to its result."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from pkgutil import resolve_name
from unittest.mock import patch

import click
import pytest

from tests.helpers.outcomes.commands import train
from vfl_flower.cli.main import guarded
from vfl_flower.common.errors import RunError
from vfl_flower.common.layout import WEIGHTS
from vfl_flower.common.signals import NUMBERS, Stopped, raise_at_signals, stopped_by

WINE = ["--dataset=wine", "--parties=3", "--epochs=1", "--models=mlp", "--threads=1"]
BEGIN = "import os, signal, time; from vfl_flower.common.signals import *; pid = os.getpid(); "


@pytest.fixture
def raising() -> Iterator[None]:
    """Handlers as in a command's own process."""
    before = [signal.getsignal(number) for number in NUMBERS]
    with patch("sys.unraisablehook"):
        raise_at_signals()
        yield
    for number, handler in zip(NUMBERS, before, strict=True):
        signal.signal(number, handler)


def ended(*command: str, **environment: str) -> tuple[int, list[str]]:
    """Run Python; return its exit code and the lines that it prints."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, *command],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, (done.stdout + done.stderr).splitlines()


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_while_packages_are_imported_is_one_line(
    name: str, code: int, tmp_path: Path
) -> None:
    """Send a signal while click is imported, which is first."""
    text = f"import os, signal; os.kill(os.getpid(), signal.{name}); import time; time.sleep(9)"
    (tmp_path / "click.py").write_text(text)
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])
    assert ended("-m", "vfl_flower", "inspect", PYTHONPATH=path) == (
        code,
        ["interrupted: before anything was begun"],
    )


def test_a_signal_that_a_program_sends_twice_does_not_disturb_the_end() -> None:
    """Later, another one ends the process that does not end by itself."""
    lines = [
        "raise_at_signals()",
        "try:",
        "    os.kill(pid, signal.SIGINT)",
        "    time.sleep(9)",
        "except Stopped:",
        "    os.kill(pid, signal.SIGTERM)",
        "    print('cleaned up', exit_code(), flush=True)",
        "    import vfl_flower.common.signals as own",
        "    own.PATIENCE = 0",
        "    os.kill(pid, signal.SIGINT)",
        "    time.sleep(9)",
    ]
    code, (first, second) = ended("-c", "\n".join([BEGIN, *lines]))
    assert (code, first) == (130, "cleaned up 143")
    assert second.startswith("interrupted: at once")


def test_a_signal_that_a_finalizer_loses_comes_again() -> None:
    lines = [
        "raise_at_signals()",
        "class Lost:",
        "    def __del__(self):",
        "        os.kill(pid, signal.SIGTERM)",
        "        time.sleep(9)",
        "try:",
        "    Lost()",
        "    time.sleep(9)",
        "except Stopped:",
        "    print(exit_code())",
    ]
    assert ended("-c", "\n".join([BEGIN, *lines])) == (0, ["143"])


def test_work_that_is_done_keeps_its_exit_code() -> None:
    text = f"{BEGIN} exit_at_signals(2); os.kill(pid, signal.SIGINT); time.sleep(9)"
    assert ended("-c", text) == (2, [])


def test_a_signal_while_python_ends_changes_nothing() -> None:
    """Finalizers of packages run after Python has taken its handlers away."""
    lines = [
        "class Late:",
        "    def __del__(self, end=os.kill, pid=pid, number=signal.SIGTERM):",
        "        end(pid, number)",
        "import sys",
        "sys.late = Late()",
        "exit_at_signals(0)",
    ]
    assert ended("-c", "\n".join([BEGIN, *lines])) == (0, [])


@pytest.mark.usefixtures("raising")
def test_a_second_signal_goes_to_the_handlers_before() -> None:
    taken: list[int] = []
    before = [signal.getsignal(number) for number in NUMBERS]
    with stopped_by(lambda number, frame: taken.append(number), once=True):
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(Stopped):
            signal.raise_signal(signal.SIGINT)
    assert taken == [signal.SIGTERM]
    assert [signal.getsignal(number) for number in NUMBERS] == before


@pytest.mark.usefixtures("raising")
@pytest.mark.parametrize("error", [RunError("a party has failed"), OSError("no"), TypeError("no")])
def test_an_error_that_a_signal_becomes_is_an_interruption(
    error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    """C code may clear a signal's exception and raise another."""

    def met() -> None:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        raise error

    assert guarded(click.Command("met", callback=met), "met", []) == 143
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("interrupted: at once")
    assert str(error) in line


@pytest.mark.usefixtures("raising")
@pytest.mark.parametrize(
    ("place", "told", "name"),
    [
        ("vfl_flower.workflows.local.train.build", "at once", "SIGTERM"),
        ("vfl_flower.training.evaluation.write_model", "stopped after step", "SIGINT"),
        ("vfl_flower.workflows.run.result_of", "at once", "SIGINT"),
        ("vfl_flower.workflows.run.baselines_of", "at once", "SIGTERM"),
    ],
)
def test_a_run_that_a_signal_stops_says_so_and_goes_on(
    place: str,
    told: str,
    name: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    whole: Path,
) -> None:
    """While parties are built, models written, baselines trained, and the result made."""
    original, number = resolve_name(place), signal.Signals[name]

    def met(*given: object, **named: object) -> object:
        signal.raise_signal(number)
        return original(*given, **named)

    out = tmp_path / "run"
    with patch(place, met):
        assert train([*WINE, f"--out={out}"]) == 128 + number
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith(f"interrupted: {told}")
    assert not (out / "result.json").exists()
    if not out.exists():
        assert place.endswith("build")
        return
    assert train([f"--resume={out}"]) == 0
    models = [folder / "party-1" / "model" / WEIGHTS for folder in (out, whole)]
    assert models[0].read_bytes() == models[1].read_bytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "run"
    assert train([*WINE, f"--out={path}"]) == 0
    return path
