"""Runs of a deployment on this machine, whose processes may die."""

import contextlib
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.local import CONNECTION, Deployment
from tests.helpers.outcomes.commands import train as run
from vfl_flower.common.names import party_name

PATIENCE = 240.0  # seconds: a busy machine takes long to start four processes that import torch
OPENING = f'parties=4 stream-listen="127.0.0.1:0" party-timeout={PATIENCE} models="mlp"'
EPOCHS = 100  # enough for what happens after some of them to happen before the last
OPTIONS = (
    'stream-grace=10.0 batch-size=256 embedding-dim=16 party-randomness="public" '
    'embedding-bound="none"'
)
FLAGS = ["--models", "mlp", "--batch-size", "256", "--embedding-dim", "16", "--baselines", "off"]
ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass
class Run:
    """A run of a deployment: ``flwr run --stream``, logged to a file.

    A pipe that nobody reads gets full, and shows nothing when a test fails.
    """

    deployment: Deployment
    process: "subprocess.Popen[bytes]"
    file: Path

    def log(self) -> str:
        return ANSI.sub("", self.file.read_text(errors="replace"))

    def wait_until(self, reached: Callable[[], bool]) -> None:
        """Wait for a state of the run; fail early if it ended."""
        deadline = time.monotonic() + PATIENCE
        while True:
            ended = self.process.poll() is not None
            if reached():
                return
            assert not ended, f"the run has ended\n{self.told()}"
            assert time.monotonic() < deadline, f"the run does not get on\n{self.told()}"
            time.sleep(0.05)

    def wait_for_epoch(self, name: str, epoch: int) -> None:
        """Wait until the run has evaluated the end of an epoch."""
        metrics = self.deployment.folder / "active" / name / "metrics.jsonl"
        self.wait_until(lambda: metrics.is_file() and metrics.read_text().count("\n") >= epoch)

    def finished(self) -> str:
        """Wait for the run's end, and return its log."""
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the run does not end\n{self.told()}") from None
        return self.log()

    def number(self) -> str:
        """Wait until Flower has given the run a number."""
        self.wait_until(lambda: "Successfully started run" in self.log())
        (number,) = re.findall(r"Successfully started run (\d+)", self.log())
        return str(number)

    def told(self) -> str:
        """Return the latest output of run, SuperLink and SuperNodes."""
        logs = [self.file, *sorted(self.deployment.folder.glob("[ln]*.log"))]
        tails = [file.read_text(errors="replace").splitlines()[-30:] for file in logs]
        components = zip(logs, tails, strict=True)
        return ANSI.sub("", "\n".join(f"== {file.name}\n" + "\n".join(t) for file, t in components))

    def end(self) -> None:
        """Free the nodes for the next run."""
        if self.process.poll() is None:
            for number in re.findall(r"Successfully started run (\d+)", self.log()):
                self.deployment.flwr("stop", number, CONNECTION)
            self.process.kill()
            self.process.wait()


Start = Callable[[str], Run]


def named(name: str, options: str) -> str:
    """Return the configuration of a run that starts anew."""
    return f'{OPENING} run-name="{name}" {OPTIONS} {options}'


def weights(deployment: Deployment, name: str) -> list[bytes]:
    """Return every party's weights from its state folder, if any."""
    roots = [deployment.folder / root for root in ("active", "party-1", "party-2", "party-3")]
    files = [r / name / party_name(k) / "model/weights.safetensors" for k, r in enumerate(roots)]
    return [file.read_bytes() if file.exists() else b"" for file in files]


def local_weights(folder: Path, epochs: int) -> list[bytes]:
    """Return the weights of the same run on the local carrier."""
    assert run([*FLAGS, "--epochs", str(epochs), "--out", str(folder)]) == 0
    return [(folder / party_name(k) / "model/weights.safetensors").read_bytes() for k in range(4)]


def result(deployment: Deployment, name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(
        (deployment.folder / "active" / name / "result.json").read_text()
    )
    return content


def kill(deployment: Deployment, program: str, within: str = "") -> None:
    """Kill -9 a program's processes, or those of one process group."""
    group = deployment.processes[within].pid if within else 0
    killed = 0
    for number in running(deployment, program):
        with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
            if not group or os.getpgid(number) == group:
                os.kill(number, signal.SIGKILL)
                killed += 1
    assert killed


def running(deployment: Deployment, *programs: str) -> list[int]:
    """Return the process ids of some programs of a deployment."""
    home = f"FLWR_HOME={deployment.env['FLWR_HOME']}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            ours = home in (folder / "environ").read_bytes()
            line = (folder / "cmdline").read_bytes().decode(errors="replace")
            words = [Path(word).name for word in line.split("\0")[:2]]  # its interpreter, itself
        except OSError:
            continue
        if ours and not {*words}.isdisjoint(programs):
            found.append(int(folder.name))
    return found
