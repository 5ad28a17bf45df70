"""Drift of inputs: scored rows that are unlike all training rows."""

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import RunError
from vfl_flower.common.files import json_bytes, read_json
from vfl_flower.common.names import party_log
from vfl_flower.data.party_data import PartyData

EVERY = 500
"""Distinct rows of one line of a party's log: so many that no line tells of one row."""

_CHUNK = 1 << 16
_SHAPE = {"names": [str], "low": [float], "high": [float]}


@dataclass(frozen=True)
class InputRanges:
    """Range of each column of numbers in the training rows.

    Missing values are in every range, and numbers in none of a column that had no other.

    Attributes
    ----------
    names : tuple of str
        Of the first columns of a network's input, n of them.
    low, high : tuple of float
        Least and largest value, as the network gets them.
    """

    names: tuple[str, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    @classmethod
    def of(cls, data: PartyData) -> Self | None:
        """Measure the ranges of a party's training rows; None of images."""
        names = _names(data)
        if not names or not len(data.rows["train"]):
            return None
        chunks = torch.from_numpy(data.rows["train"]).to(data.x.device).split(_CHUNK)
        parts = [data.x.index_select(0, chunk)[:, : len(names)] for chunk in chunks]
        low = torch.stack([part.nan_to_num(torch.inf).amin(0) for part in parts]).amin(0)
        high = torch.stack([part.nan_to_num(-torch.inf).amax(0) for part in parts]).amax(0)
        return cls(names, tuple(low.nan_to_num().tolist()), tuple(high.nan_to_num().tolist()))

    def outside(self, x: Tensor) -> NDArray[np.bool_]:
        """Mark values outside the ranges: (B, ...) -> (B, n)."""
        numbers = x[:, : len(self.names)].cpu()
        marked = (numbers < torch.tensor(self.low)) | (numbers > torch.tensor(self.high))
        found: NDArray[np.bool_] = marked.numpy()
        return found

    def to_json(self) -> bytes:
        """Return them as JSON, which quotes values of the table."""
        return json_bytes(asdict(self))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the ranges of a model folder.

        Raises
        ------
        RunError
            If the file is missing or damaged.
        """
        kept = read_json(path, _SHAPE)
        if not len(kept["names"]) == len(kept["low"]) == len(kept["high"]):
            raise RunError(f"{path} is damaged: it does not name each range")
        return cls(*(tuple(kept[key]) for key in _SHAPE))


def _names(data: PartyData) -> tuple[str, ...]:
    """Name the columns of numbers; none of images."""
    if len(data.x.shape) != 2:
        return ()
    if data.encoder:
        return tuple(each.name for each in data.encoder.numeric)
    return tuple(f"column {n}" for n in range(data.x.shape[1]))


class Scored(Protocol):
    """Interface of a party whose inputs are counted."""

    data: PartyData
    ranges: InputRanges | None

    @property
    def rank(self) -> int:
        """0 for the active party."""

    def columns(self, rows: Tensor | Array) -> Tensor:
        """Its columns of some rows: (B,) -> (B, ...)."""


class InputDrift:
    """Counts scored rows unlike all training rows, in the party's own log.

    Counted are, for each column, rows with a number below or above all training rows, and rows with
    a category that no training row had; a row that is asked again counts once a line.

    Parameters
    ----------
    party : Scored
        With its model.
    """

    def __init__(self, party: Scored) -> None:
        self._party = party
        self._rows, self._found = np.empty(0, np.int32), Counter[str]()

    def note(self, rows: Array) -> None:
        """Count scored rows, (B,) int32; log after so many."""
        rows = np.setdiff1d(rows, self._rows)
        if not len(rows):
            return
        data, ranges = self._party.data, self._party.ranges
        self._rows = np.concatenate((self._rows, rows))
        if ranges:
            counts = ranges.outside(self._party.columns(rows)).sum(0).tolist()
            for name, count in zip(ranges.names, counts, strict=True):
                self._found[f"{name} outside the training rows' range"] += count
        for name, marked in data.unseen.items():
            self._found[f"{name} of a category that no training row had"] += int(marked[rows].sum())
        if len(self._rows) >= EVERY:
            self._tell()

    def _tell(self) -> None:
        found = [f"{count} have {text}" for text, count in self._found.items() if count]
        told = "; ".join(found) or "none has a number or category unlike those of training"
        party_log(self._party.rank).info("of the last %d scored rows %s", len(self._rows), told)
        self._rows, self._found = np.empty(0, np.int32), Counter()
