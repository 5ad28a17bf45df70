"""A peer and this project at one work, in turn."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness.parallel import ONE_THREAD
from benchmarks.peers.errors import PeerError
from benchmarks.peers.inside.work import OUTCOME
from benchmarks.peers.peer import Peer
from benchmarks.peers.processes import run

ROOT = Path(__file__).parents[2]
LIMIT = 1200.0
"""Seconds of one run."""


@dataclass(frozen=True)
class Outcome:
    """Figures of one run.

    Attributes
    ----------
    ms, bytes : float
        A step, or a tree; bytes are None where they are not counted.
    score : float
        Accuracy of the test rows, a fraction, or their ROC-AUC.
    peak : int or None
        Memory of all its processes, in bytes.
    """

    ms: float
    bytes: float | None
    score: float
    peak: int | None


def contend(
    python: str, module: str, way: str, variables: Mapping[str, str], folder: Path
) -> Outcome:
    """Run one contender once.

    Raises
    ------
    PeerError
        If it fails.
    """
    outcome = folder / OUTCOME
    outcome.unlink(missing_ok=True)
    env = {**ONE_THREAD, **variables, "PYTHONPATH": str(ROOT)}
    command = [python, "-m", "benchmarks.peers.inside", module, str(folder), way]
    peak = run(command, env, folder / f"{module}.log", LIMIT)
    if not outcome.exists():
        raise PeerError("it ended without an outcome")
    told: dict[str, Any] = json.loads(outcome.read_text())
    return Outcome(**told, peak=peak)


def ours(peer: Peer, folder: Path) -> Outcome:
    """Run this project once, as it is compared with a peer."""
    return contend(sys.executable, peer.kind.ours, peer.way, {}, folder)


def theirs(peer: Peer, python: str, folder: Path) -> Outcome:
    """Run a peer once."""
    return contend(python, peer.module, peer.way, peer.variables, folder)


def begin(peer: Peer, folder: Path, options: Mapping[str, Any], warm_up: int) -> None:
    """Write a fresh work for both."""
    folder.mkdir()
    peer.kind.prepare(folder, options, min(warm_up, peer.warm_up))
