"""Learning task of the labels, and targets of networks."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfl_flower.common.errors import DataError
from vfl_flower.common.files import json_bytes, read_json
from vfl_flower.config.catalog import BINARY, MULTI_CLASS, REGRESSION
from vfl_flower.data.columns import Column

TARGET = {"task": str, "classes": [str], "mean": float, "deviation": float}
"""The shape of its JSON."""

Outcome = NDArray[np.int64] | NDArray[np.float32]


def task_of(label: Column | None) -> str:
    """Return the task that labels set; empty without labels."""
    if label is None:
        return ""
    if label.values is None:
        return REGRESSION
    return BINARY if len(label.values) == 2 else MULTI_CLASS


@dataclass(frozen=True)
class Target:
    """Task and classes of the training labels, to encode any labels.

    Attributes
    ----------
    task : str
        ``binary``, ``multi-class`` or ``regression``.
    classes : tuple of str
        As the file writes them, in order; empty for a regression.
    mean, deviation : float
        Of a regression's labels, in the file's unit: y is learnt as (y - mean) / deviation. 0 and
        1 for classes.
    """

    task: str
    classes: tuple[str, ...]
    mean: float = 0.0
    deviation: float = 1.0

    @classmethod
    def fit(
        cls, labels: NDArray[np.float64], label: Column, train: NDArray[Any], party: str
    ) -> "Target":
        """Fit a target on training rows.

        Parameters
        ----------
        labels : ndarray of float64
            (N,): numbers, or places in the label's values.
        label : Column
        train : ndarray of int
            The training rows.
        party : str
            Whose labels they are, for errors.

        Raises
        ------
        DataError
            If a class has no training row, or all training rows have the same number.
        """
        sample = labels[train]
        if label.values is None:
            deviation = float(sample.std())
            if not deviation > 0:
                raise DataError(f"{party}: all training rows have the same {label.name}")
            return cls(REGRESSION, (), float(sample.mean()), deviation)
        counts = np.bincount(sample.astype(np.intp), minlength=len(label.values))
        if not counts.all():
            raise DataError(
                f"{party}: no training row is of one of the classes, so that it cannot be learnt; "
                "take other training rows, or leave the class out",
                label.values[int(counts.argmin())],
            )
        return cls(task_of(label), label.values)

    def apply(self, labels: NDArray[np.float64], label: Column, party: str) -> Outcome:
        """Encode labels as targets of a network.

        Parameters
        ----------
        labels : ndarray of float64
            (N,), of any rows.
        label : Column
            With values of its own.
        party : str
            Whose labels they are, for errors.

        Returns
        -------
        ndarray
            (N,): int64, places in `classes`; or float32, standardised.

        Raises
        ------
        DataError
            If there is a class, or the kind of task, that was not learnt.
        """
        if (label.values is None) != (self.task == REGRESSION):
            raise DataError(f"{party}: {label.name} was learnt as {self.task}; set task to that")
        if label.values is None:
            return ((labels - self.mean) / self.deviation).astype(np.float32)
        if strange := [value for value in label.values if value not in self.classes]:
            raise DataError(f"{party}: there is a class that no training row had", strange[0])
        places = np.array([self.classes.index(value) for value in label.values], np.int64)
        return places[labels.astype(np.intp)]

    def restored(self, standardised: NDArray[Any]) -> NDArray[np.float64]:
        """Return a regression's predictions in the unit of the file."""
        restored: NDArray[np.float64] = standardised * self.deviation + self.mean
        return restored

    def to_json(self) -> bytes:
        """Return it as JSON."""
        return json_bytes(asdict(self))

    @classmethod
    def load(cls, path: Path) -> "Target":
        """Read a target from its JSON file.

        Raises
        ------
        RunError
            If the file is missing or damaged.
        """
        kept = read_json(path, TARGET)
        return cls(kept["task"], tuple(kept["classes"]), kept["mean"], kept["deviation"])
