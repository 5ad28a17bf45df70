"""Work of all contenders: networks, data and batches, read from one folder.

It needs NumPy and PyTorch only, so that every contender's environment can import it.
"""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Rows = NDArray[np.int32]
Figures = dict[str, float | None]
SPEC, OPTIONS, OUTCOME = "work.json", "options.json", "outcome.json"
"""Files of a work: what contenders need, this project's options, and figures of a run."""

FOLDER = "PEERS_WORK_FOLDER"
"""Environment variable that names the folder."""
EVALUATED = 1000
"""Rows of a batch in an evaluation."""


class Columns:
    """Columns of a party; images are standardised by the batch."""

    def __init__(self, folder: Path, rank: int) -> None:
        self.x = np.load(folder / f"x-{rank}.npy")
        moments = folder / f"moments-{rank}.npy"
        self.moments = torch.from_numpy(np.load(moments)) if moments.exists() else None

    def __call__(self, rows: Rows) -> Tensor:
        """Return some rows, (B, ...) float32."""
        x = torch.from_numpy(self.x[rows])
        if self.moments is None:
            return x
        mean, deviation = self.moments
        made: Tensor = (x.float() / 255 - mean) / deviation
        return made


class Work:
    """Split learning in mini-batches, or with all rows a step.

    Parameters
    ----------
    folder : Path
        As `benchmarks.peers.prepare` has written it.
    """

    def __init__(self, folder: Path) -> None:
        torch.set_num_threads(1)
        self.folder = folder
        spec: dict[str, Any] = json.loads((folder / SPEC).read_text())
        self.rate: float = spec["rate"]
        self.passive: int = spec["passive"]
        self.batch: int = spec["batch"]
        self.warm_up: int = spec["warm_up"]
        self.order: Rows = np.load(folder / "order.npy")  # (epochs, N)
        self.test: Rows = np.load(folder / "test.npy")

    def batches(self) -> list[Rows]:
        """Return the rows of every step."""
        return [rows for epoch in self.epochs() for rows in epoch]

    def epochs(self) -> list[list[Rows]]:
        """Return the rows of every step, by epoch."""
        starts = range(0, self.order.shape[1], self.batch)
        return [[epoch[start : start + self.batch] for start in starts] for epoch in self.order]

    def tests(self) -> list[Rows]:
        """Return the test rows in batches."""
        return [self.test[n : n + EVALUATED] for n in range(0, len(self.test), EVALUATED)]

    def labels(self) -> Tensor:
        """Return the labels of all rows, (N,)."""
        return torch.from_numpy(np.load(self.folder / "y.npy"))

    def columns(self, rank: int) -> Columns:
        """Return the columns of a party."""
        return Columns(self.folder, rank)

    def network(self, name: str) -> nn.Module:
        """Return ``top`` or ``bottom-K`` with its initial weights."""
        network: nn.Module = torch.load(self.folder / f"{name}.pt", weights_only=False)
        return network

    def optimizer(self, network: nn.Module) -> torch.optim.Adam:
        """Return the optimizer of a network."""
        return torch.optim.Adam(network.parameters(), lr=self.rate)

    def write(self, outcome: Mapping[str, float | None]) -> None:
        """Write the outcome, in one go."""
        written(self.folder, outcome)


def written(folder: Path, outcome: Mapping[str, float | None]) -> None:
    """Write an outcome into the folder of its work, in one go."""
    fresh = folder / f"{OUTCOME}.new"
    fresh.write_text(json.dumps(outcome))
    fresh.replace(folder / OUTCOME)


class Clock:
    """Mean time of the steps behind the first ones.

    Parameters
    ----------
    warm_up : int
        The first ones; with none, all since the clock was made counts.

    Attributes
    ----------
    away : float
        Seconds since then for which something else was done.
    """

    def __init__(self, warm_up: int) -> None:
        self.warm_up, self.steps, self.away = warm_up, 0, 0.0
        self.begun = self.ended = time.perf_counter()

    def step(self) -> None:
        """Count a step that has ended."""
        self.steps += 1
        self.ended = time.perf_counter() - self.away
        if self.steps == self.warm_up:
            self.begun = self.ended

    def outcome(self) -> Figures:
        """Return milliseconds a step; bytes are for others to count."""
        seconds = self.ended - self.begun
        return {"ms": 1e3 * seconds / (self.steps - self.warm_up), "bytes": None}
