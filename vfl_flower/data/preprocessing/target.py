"""Learning task of the labels, and targets of networks."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vfl_flower.common.errors import DataError, RunError
from vfl_flower.common.files import json_bytes, read_json
from vfl_flower.common.json_schema import fits
from vfl_flower.config.catalog import BINARY, MULTI_CLASS, MULTI_LABEL, REGRESSION
from vfl_flower.config.evaluation.positive import ORDER, RARER, STATED, positive_text
from vfl_flower.config.evaluation.threshold import USUAL
from vfl_flower.data.columns import Column
from vfl_flower.data.preprocessing.found_values import found_last

TARGET = {"task": str, "classes": [str], "mean": float, "deviation": float}
"""The shape of its JSON."""

_LATER = {"positive": int, "positive_by": str, "threshold": float, "values": [[str]]}
"""Keys that the JSON of earlier versions lacks."""

Outcome = NDArray[np.int64] | NDArray[np.float32]


def task_of(label: Column | None) -> str:
    """Return the task that labels set; empty without labels."""
    if label is None:
        return ""
    if label.values is None:
        return REGRESSION
    if label.parts:
        return MULTI_LABEL
    return BINARY if len(label.values) == 2 else MULTI_CLASS


@dataclass(frozen=True)
class Target:
    """Task and classes of the training labels, to encode any labels.

    Attributes
    ----------
    task : str
        One of `TASKS` in the catalog.
    classes : tuple of str
        As the file writes them, in order; empty for a regression. Of several labels their names.
    mean, deviation : float
        Of a regression's labels, in the file's unit: y is learnt as (y - mean) / deviation. 0 and
        1 for classes.
    positive : int
        Of two classes, the place of the one that is to be found.
    positive_by : str
        Why it is that one: ``stated``, ``rarer``, or ``order``, as the second one.
    threshold : float
        Probability from which on the positive class is predicted.
    values : tuple of tuple of str
        Of several labels, the two values of each, as the file writes them; the second is found.
    """

    task: str
    classes: tuple[str, ...]
    mean: float = 0.0
    deviation: float = 1.0
    positive: int = 1
    positive_by: str = ORDER
    threshold: float = USUAL
    values: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def fit(
        cls,
        labels: NDArray[np.float64],
        label: Column,
        train: NDArray[Any],
        party: str,
        positive: str = "",
    ) -> "Target":
        """Fit a target on training rows.

        Parameters
        ----------
        labels : ndarray of float64
            (N,): numbers, or places in the label's values; or of several labels (N, L).
        label : Column
        train : ndarray of int
            The training rows.
        party : str
            Whose labels they are, for errors.
        positive : str
            The positive one of two classes; empty: the rarer one.

        Raises
        ------
        DataError
            If a class has no training row, all training rows have the same number, or there is no
            such positive class.
        """
        sample = labels[train]
        if label.values is None:
            deviation = float(sample.std())
            if not deviation > 0:
                raise DataError(f"{party}: all training rows have the same {label.name}")
            return cls(REGRESSION, (), float(sample.mean()), deviation)
        if label.parts:
            return cls._of_several(sample, label, party)
        counts = np.bincount(sample.astype(np.intp), minlength=len(label.values))
        if not counts.all():
            raise DataError(
                f"{party}: no training row is of one of the classes, so that it cannot be learnt; "
                "take other training rows, or leave the class out",
                label.values[int(counts.argmin())],
            )
        return cls(task_of(label), label.values).with_positive(counts, positive, party)

    @classmethod
    def _of_several(cls, sample: NDArray[np.float64], label: Column, party: str) -> "Target":
        """Fit a target of several labels, (n, L) places in their values."""
        alike = np.flatnonzero(np.ptp(sample, axis=0) == 0)
        if alike.size:
            name = label.parts[alike[0]].name
            raise DataError(f"{party}: all training rows have the same {name}; leave it out")
        pairs = zip(label.parts, sample.mean(axis=0), strict=True)
        values = tuple(found_last(each.values or (), share) for each, share in pairs)
        return cls(MULTI_LABEL, label.values or (), values=values)

    def with_positive(self, counts: NDArray[Any], stated: str, party: str) -> "Target":
        """Return it with the positive class, of two.

        Parameters
        ----------
        counts : ndarray of int
            (C,), the training rows of each class.
        stated : str
            The class, where it is known; empty: the rarer one, or the second of equals.
        party : str
            Whose labels they are, for errors.
        """
        if stated:
            place = positive_of(self.classes, stated, party)
            return replace(self, positive=place, positive_by=STATED)
        if self.task != BINARY or counts[0] == counts[1]:
            return self
        return replace(self, positive=int(counts.argmin()), positive_by=RARER)

    @property
    def positive_class(self) -> str:
        """Name of the positive class; empty unless there are two."""
        return self.classes[self.positive] if self.task == BINARY else ""

    @property
    def told_positive(self) -> str:
        """Say which class is positive, and why; of labels, which values."""
        if self.task == MULTI_LABEL:
            pairs = zip(self.classes, self.values, strict=True)
            return f"found: {', '.join(f'{name} {values[1]}' for name, values in pairs)}"
        return positive_text(self.positive_class, self.positive_by)

    def decided(self, said: Tensor) -> Tensor:
        """Predict classes, (N,) int64, from logits, (N, C).

        Of several labels (N, C): 1 where a probability is above 0.5, else 0.
        """
        if self.task == MULTI_LABEL:
            return (said > 0).long()
        if self.task != BINARY or self.threshold == USUAL:
            return said.argmax(1)
        shares = said.double().softmax(1)[:, self.positive]
        alarm = shares >= self.threshold  # which may be above 1
        return torch.where(alarm, self.positive, 1 - self.positive)

    def apply(self, labels: NDArray[np.float64], label: Column, party: str) -> Outcome:
        """Encode labels as targets of a network.

        Parameters
        ----------
        labels : ndarray of float64
            (N,), of any rows; of several labels (N, L).
        label : Column
            With values of its own.
        party : str
            Whose labels they are, for errors.

        Returns
        -------
        ndarray
            (N,): int64, places in `classes`; or float32, standardised; or of several labels
            (N, L) float32, 0 and 1.

        Raises
        ------
        DataError
            If there is a class, or the kind of task, that was not learnt.
        """
        if (label.values is None) != (self.task == REGRESSION):
            raise DataError(f"{party}: {label.name} was learnt as {self.task}; set task to that")
        if bool(label.parts) != (self.task == MULTI_LABEL):
            raise DataError(
                f"{party}: the labels were learnt as {self.task}; describe them as then"
            )
        if label.parts:
            return self._places(labels, label, party)
        if label.values is None:
            return ((labels - self.mean) / self.deviation).astype(np.float32)
        if strange := [value for value in label.values if value not in self.classes]:
            raise DataError(f"{party}: there is a class that no training row had", strange[0])
        places = np.array([self.classes.index(value) for value in label.values], np.int64)
        return places[labels.astype(np.intp)]

    def _places(
        self, labels: NDArray[np.float64], label: Column, party: str
    ) -> NDArray[np.float32]:
        """Encode several labels, (N, L) -> (N, L)."""
        places = np.empty(labels.shape, np.float32)
        for n, (part, known) in enumerate(zip(label.parts, self.values, strict=True)):
            if strange := set(part.values or ()) - {*known}:
                raise DataError(
                    f"{party}: the label {part.name} has a value that no training row had",
                    min(strange),
                )
            own = np.array([known.index(value) for value in part.values or ()], np.float32)
            places[:, n] = own[labels[:, n].astype(np.intp)]
        return places

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
        kept = asdict(cls("", ())) | {"values": []} | read_json(path, TARGET)
        if not fits(kept, _LATER) or (
            kept["task"] == BINARY and kept["positive"] >= len(kept["classes"])
        ):
            raise RunError(f"{path} is damaged: it names no positive class")
        named = {key: kept[key] for key in asdict(cls("", ()))}
        listed = {"classes": tuple(kept["classes"]), "values": tuple(map(tuple, kept["values"]))}
        return cls(**named | listed)


def positive_of(classes: Sequence[str], stated: str, party: str) -> int:
    """Return the place of the class that is said to be positive.

    Numbers and booleans may be written otherwise than in the file.

    Raises
    ------
    DataError
        If there are not two classes, or none of them is called so.
    """
    if len(classes) != 2:
        raise DataError(
            f"{party}: positive is one of two classes, and the labels have {len(classes) or 'no'} "
            "classes; remove it"
        )
    ways: tuple[Callable[[str], object], ...] = (str, str.casefold, _number)
    for same in ways:
        found = [place for place, name in enumerate(classes) if same(name) == same(stated)]
        if len(found) == 1:
            return found[0]
    raise DataError(f"{party}: positive must be {' or '.join(classes)}", stated)


def _number(text: str) -> float | str:
    """Return a number that is written as text, or else the text."""
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return text
