"""Commands in processes forked from one that has imported everything.

A run takes a second there, since nothing has to be imported. The process that is forked has no
threads, which would not survive.
"""

import json
import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partialmethod
from pathlib import Path
from unittest.mock import patch

import numpy as np

from benchmarks.faulty.calls import Calls
from vfl_flower.cli.completion import PROGRAM
from vfl_flower.cli.main import main
from vfl_flower.common.names import load_object
from vfl_flower.config.catalog import LABEL_MECHANISMS
from vfl_flower.privacy.label_dp.mechanisms import LabelNoise

IMPORTED = [
    *(
        "benchmarks.faulty.damage",
        "benchmarks.faulty.malformed",
        "benchmarks.faulty.configurations",
    ),
    *("flwr.server", "sklearn.datasets", "sklearn.metrics"),
    *("pyarrow.csv", "strategies.specs", "vfl_flower.api"),
    *("vfl_flower.workflows.simulate", "vfl_flower.workflows.align"),
    "vfl_flower.cli.commands.train_command",
]
"""Modules that are slow to import; one that is missing here costs time only."""

KILLED = -signal.SIGKILL
TERMINATED = {0, 128 + signal.SIGTERM}
"""Exit codes of a process that is sent SIGTERM; 0 if it came too late to change anything."""


@dataclass(frozen=True)
class Plan:
    """A fault in a process.

    Attributes
    ----------
    folder : Path
        Only calls in it count.
    point : int
        Number of the call, from 1; 0 for none.
    number : Signals
        The signal that comes there.
    """

    folder: Path
    point: int = 0
    number: signal.Signals = signal.SIGKILL


@dataclass(frozen=True)
class Ended:
    """End of a process.

    Attributes
    ----------
    code : int
        Exit code; a signal's number below 0.
    text : str
        Output and errors.
    calls : list of str
        Calls that were counted up to the fault, or all.
    """

    code: int
    text: str
    calls: list[str]

    @property
    def last(self) -> str:
        """The last line of the text."""
        return (self.text.strip().splitlines() or [""])[-1]


def forked(arguments: Sequence[str], plan: Plan | None = None, noise: int = 0) -> Ended:
    """Run a command in a process of its own.

    Parameters
    ----------
    arguments : sequence of str
        Of ``vfl-flower``.
    plan : Plan, optional
        The fault; without one nothing is counted.
    noise : int
        Seed of the noise of labels, which otherwise comes from the operating system.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    with tempfile.TemporaryDirectory(prefix="vfl-flower-fork-") as folder:
        told = Path(folder)
        process = context.Process(target=_run, args=(list(arguments), plan, noise, told))
        process.start()
        process.join()
        calls = told / "calls.json"
        return Ended(
            process.exitcode or 0,
            (told / "text").read_text(errors="replace"),
            json.loads(calls.read_text()) if calls.exists() else [],
        )


def _run(arguments: list[str], plan: Plan | None, noise: int, told: Path) -> None:
    """Run a command in this process, which is its own."""
    text = os.open(told / "text", os.O_WRONLY | os.O_CREAT, 0o600)
    for stream in (1, 2):
        os.dup2(text, stream)
    seed_noise(noise)

    def note() -> None:
        (told / "calls.json").write_text(json.dumps(calls.names))

    def fault() -> None:
        note()
        os.kill(os.getpid(), plan.number if plan else 0)

    if plan:
        calls = Calls(plan.folder.resolve(), plan.point, fault)
        calls.install()
    sys.argv = [PROGRAM, *arguments]
    try:
        main()
    finally:
        if plan and not plan.point:
            note()


def seed_noise(seed: int) -> None:
    """Draw the noise of labels from a seed from now on."""
    entropy = np.random.default_rng(seed).bytes
    mechanisms: list[type[LabelNoise]] = [load_object(path) for path in LABEL_MECHANISMS.values()]
    for mechanism, original in [(each, each.release) for each in mechanisms]:
        patch.object(mechanism, "release", partialmethod(original, entropy=entropy)).start()
