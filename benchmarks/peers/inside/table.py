"""Work of all contenders on trees: rules, rows and encoded columns."""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from benchmarks.peers.inside.work import SPEC, written

PARTS = ("train", "test")
Floats = NDArray[np.float32]


class TableWork:
    """Rounds of trees on a table whose columns several parties have.

    Parameters
    ----------
    folder : Path
        As `benchmarks.peers.prepare_trees` has written it.

    Attributes
    ----------
    rules : dict
        ``rounds``, ``depth``, ``rate``, ``bins``, ``l2``, ``least_child`` and ``base``, the mean
        label of training rows.
    parties : int
        Of which the first, 0, has the labels.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rules: dict[str, Any] = json.loads((folder / SPEC).read_text())
        self.parties: int = self.rules["parties"]

    def columns(self, rank: int, part: str) -> Floats:
        """Return a party's columns of the rows of a part, (n, F)."""
        columns: Floats = np.load(self.folder / f"x-{rank}-{part}.npy")
        return columns

    def labels(self, part: str) -> Floats:
        """Return zeros and ones of the rows of a part, (n,)."""
        labels: Floats = np.load(self.folder / f"y-{part}.npy")
        return labels

    def auc(self, scores: Floats) -> float:
        """Return the ROC-AUC of scores of the test rows."""
        positive = self.labels("test") == 1
        ranks, count = rankdata(scores)[positive], int(positive.sum())
        pairs = count * (len(positive) - count)
        return float((ranks.sum() - count * (count + 1) / 2) / pairs)

    def write(self, outcome: Mapping[str, float | None]) -> None:
        """Write the outcome, in one go."""
        written(self.folder, outcome)


class Meter:
    """Time and bytes of the rounds behind the first one.

    Parameters
    ----------
    rounds : sequence of (float, int)
        Time and bytes so far, at the end of each round that was noted elsewhere.
    """

    def __init__(self, rounds: Sequence[tuple[float, int]] = ()) -> None:
        self.bytes = 0
        self.rounds = list(rounds)

    def round(self) -> None:
        """Note the end of a round."""
        self.rounds.append((time.perf_counter(), self.bytes))

    def outcome(self) -> dict[str, float]:
        """Return milliseconds and bytes a round."""
        (begun, before), (ended, after) = self.rounds[0], self.rounds[-1]
        count = len(self.rounds) - 1
        return {"ms": 1e3 * (ended - begun) / count, "bytes": (after - before) / count}
