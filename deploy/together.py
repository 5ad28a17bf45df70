"""``vfl-flower deploy together``: programs that live and end together.

A supervisor looks at one process. A SuperNode or a SuperLink lives on when the SuperExec that it
has started dies; it then takes runs and starts nothing. Side by side they end together, and the
supervisor starts both again.
"""

import subprocess
import sys
import time
from collections.abc import Sequence
from types import FrameType

import click

from vfl_flower.cli.main import guarded
from vfl_flower.common.errors import Interrupted, RunError
from vfl_flower.common.signals import stopped_by

BETWEEN = "--"
"""Separates the programs."""

LOOK, END = 0.5, 15.0
"""Seconds between looks at the programs, and until one that is to end is killed."""


def run_together(programs: Sequence[Sequence[str]]) -> str:
    """Run programs until one ends, then end the others in order.

    Returns
    -------
    str
        Which one ended by itself, and how.

    Raises
    ------
    RunError
        If one cannot be started.
    """
    started: list[subprocess.Popen[bytes]] = []
    try:
        for program in programs:
            started += [_start(program)]
        while all(process.poll() is None for process in started):
            time.sleep(LOOK)
        named = zip(programs, started, strict=True)
        return next(f"{p[0]} ended ({e.returncode})" for p, e in named if e.returncode is not None)
    finally:
        with stopped_by(_wait):
            for process in started:
                _end(process)


def _start(program: Sequence[str]) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(program)  # noqa: S603
    except OSError as error:
        raise RunError(f"{program[0]} cannot be started: {error.strerror}") from error


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End one program, with force if it takes too long."""
    process.terminate()
    try:
        process.wait(END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _stop(number: int, frame: FrameType | None) -> None:
    raise Interrupted("all programs were ended")


def _wait(number: int, frame: FrameType | None) -> None:
    """Do nothing: the programs are being ended."""


def _split(words: Sequence[str]) -> list[list[str]]:
    programs: list[list[str]] = [[]]
    for word in words:
        if word == BETWEEN:
            programs.append([])
        else:
            programs[-1].append(word)
    return programs


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument(
    "programs",
    nargs=-1,
    required=True,
    type=click.UNPROCESSED,
    metavar="PROGRAM ... -- PROGRAM ...",
)
def together(programs: Sequence[str]) -> None:
    """Run programs side by side; they end together.

    For systemd or a container, which then start all of them again: a SuperNode whose SuperExec has
    died would take runs and start nothing.
    """
    split = _split(programs)
    if not all(split):
        raise click.UsageError(f"there is no program before or after a {BETWEEN}")
    with stopped_by(_stop):
        raise RunError(f"{run_together(split)}, and the others were ended")


if __name__ == "__main__":
    sys.exit(guarded(together, "python -m deploy.together", sys.argv[1:]))
