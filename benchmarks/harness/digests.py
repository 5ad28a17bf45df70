"""Short runs with a digest of all weights after every step."""

import contextlib
import gc
import io
import os
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from vfl_flower.cli.main import run
from vfl_flower.config.run_config import RunConfig
from vfl_flower.parties.party import Party
from vfl_flower.protocol.observer import Observer
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_parties

RUNS: dict[str, dict[str, Any]] = {
    "easter": {},
    "easter, convolutions": {"method": "easter", "models": "cnn,lenet,cnn"},
    "splitnn": {},
    "vimadmm": {"local_steps": 2},
    "fedbcd": {},
    "pravfed": {"local_epochs": 1, "label_privacy": "none"},
}
"""Options of each run, beside `COMMON`; a key is the method's name unless they name one."""

COMMAND = "the command train"
"""Name of the run that writes a folder; its last weights are compared."""

COMMON: dict[str, Any] = {
    "parties": 3,
    "models": "mlp",
    "epochs": 1,
    "eval_every": 4,
    "baselines": "off",
    "device": "cpu",
}
KIB = 1 << 10


@dataclass(frozen=True)
class Resources:
    """Resources that a process holds after a run.

    Attributes
    ----------
    resident : int
        Memory in bytes.
    files : int
        Open files.
    threads : int
        Threads of the process.
    """

    resident: int
    files: int
    threads: int

    @classmethod
    def now(cls) -> "Resources":
        """Return those of this process, once its garbage is gone."""
        gc.collect()
        lines = Path("/proc/self/status").read_text().splitlines()
        resident = next(int(line.split()[1]) * KIB for line in lines if line.startswith("VmRSS"))
        return cls(resident, len(list(Path("/proc/self/fd").iterdir())), threading.active_count())


@dataclass(frozen=True)
class Run:
    """A run that has ended.

    Attributes
    ----------
    name : str
        A key of `RUNS`, or `COMMAND`.
    digests : list of str
        Of initial weights, of weights and losses after every step, of the last weights; of the
        command of the last ones only.
    held : Resources
        After the run.
    process : int
        Number of its process.
    """

    name: str
    digests: list[str]
    held: Resources
    process: int


class Digests(Observer):
    """Observer that digests the parties' weights after every step.

    Between exchanges no party computes, so that their weights stand still.
    """

    def __init__(self, parties: Sequence[Party]) -> None:
        self.parties, self.seen = parties, list[str]()
        self.note([])

    def note(self, losses: Sequence[float]) -> None:
        """Digest weights and losses."""
        digest = blake2b(np.asarray(losses, np.float64).tobytes(), digest_size=8)
        for party in self.parties:
            for each in party.net.state_dict().values():
                digest.update(each.numpy().tobytes())
        self.seen.append(digest.hexdigest())

    def on_step(self, step: int, losses: list[float]) -> None:
        """Digest a step."""
        self.note(losses)


def train(name: str) -> Run:
    """Train one of `RUNS` in this process, or the command."""
    digests = commanded() if name == COMMAND else trained(name)
    return Run(name, digests, Resources.now(), os.getpid())


def trained(name: str) -> list[str]:
    """Train without a folder; return the digests of all steps."""
    cfg = RunConfig(**{"method": name} | COMMON | RUNS[name])
    active, passive = build_parties(cfg)
    watch = active.observer = Digests([active, *passive])
    with contextlib.closing(active):
        run_local(active, passive)
    watch.note([])
    return watch.seen


def commanded() -> list[str]:
    """Run ``train`` with the options of `COMMON`; return the weights' digest."""
    flags = [f"--{key.replace('_', '-')}={value}" for key, value in COMMON.items()]
    with tempfile.TemporaryDirectory(prefix="vfl-flower-") as folder:
        out = Path(folder) / "run"
        with contextlib.redirect_stdout(io.StringIO()):
            code = run(["train", *flags, "--out", str(out)])
        if code:
            raise RuntimeError(f"exit code {code} of {COMMAND}")
        digest = blake2b(digest_size=8)
        for path in sorted(out.rglob("weights.safetensors")):
            digest.update(path.read_bytes())
    return [digest.hexdigest()]
