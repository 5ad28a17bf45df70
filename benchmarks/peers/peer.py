"""Description of a peer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.peers.kind import SPLIT_LEARNING, Kind

SIMULATED, DEPLOYED = "simulated", "deployed"
OURS = {SIMULATED: "local transport", DEPLOYED: "SuperLink and SuperNodes"}
"""How this project runs beside a peer."""


@dataclass(frozen=True)
class Peer:
    """Another system, and how it does the work.

    Parameters
    ----------
    title : str
        Name and version.
    environment : str
        Folder of its virtual environment.
    packages : tuple of str
        What is installed there, pinned; nothing where this environment has it.
    module : str
        Program in `benchmarks.peers.inside`.
    way : str
        `SIMULATED` or `DEPLOYED`: how this project runs beside it.
    runs : str
        How it runs, in words.
    work, tiny : mapping
        Options of the work beside those of all, and under ``--tiny``; they may fix the kind's
        option, which the command names otherwise.
    warm_up : int
        Steps that are not timed.
    variables : mapping of str to str
        Environment variables that it needs.
    kind : Kind
        Kind of the work.
    repository, commit : str
        Of Git, whose files are put into its environment; nothing where packages have it all.
    """

    title: str
    environment: str
    packages: tuple[str, ...]
    module: str
    way: str
    runs: str
    work: Mapping[str, Any]
    tiny: Mapping[str, Any]
    warm_up: int = 20
    variables: Mapping[str, str] = field(default_factory=dict)
    kind: Kind = SPLIT_LEARNING
    repository: str = ""
    commit: str = ""


IMAGES: dict[str, Any] = {
    "dataset": "mnist",
    "parties": 2,
    "epochs": 1,
    "batch-size": 128,
    "train-rows": 30000,
}
"""One party has images, the other labels: one epoch of half of MNIST."""

DIGITS: dict[str, Any] = {"dataset": "digits", "parties": 2, "epochs": 1, "batch-size": 64}
"""The same with scikit-learn's digits."""

FOREST: dict[str, Any] = {"parties": 3, "epochs": 20, "bins": 255}
"""Trees of three parties in the clear, with all training rows."""

SAPLINGS: dict[str, Any] = {"parties": 3, "epochs": 3, "bins": 32}
"""A few trees with few bins."""

FEW_ROWS: dict[str, Any] = {**SAPLINGS, "train-rows": 2000, "test-rows": 2000}
"""The same of few rows."""
