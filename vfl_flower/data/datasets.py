"""Data sets by name, with the published test rows last."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import numpy as np

from vfl_flower.common.names import load_object
from vfl_flower.config.dataset_specs import DATASETS
from vfl_flower.data.columns import Columns, Features, Labels, Pixels

L = TypeVar("L")
_Parts = Callable[[Path, bool], list[tuple[Pixels, Labels]]]
_Whole = Callable[[Path, bool], tuple[Features, Labels]]
"""From (folder, may download) to the training and the test part, or to all rows."""


@dataclass(frozen=True)
class DataSet:
    """One data set.

    Attributes
    ----------
    classes : int
        Labels are 0 to classes - 1; 0 if the parties' own tables say it.
    test_rows : int
        How many rows at the end are the published test part; 0 if there is none, and a share of
        all rows is drawn by seed.
    features, labels : callable
        From (folder, may download) to all rows; pixels stay the bytes that they are.
    columns : callable, optional
        From (folder, may download) to the columns of a table.
    class_names : tuple of str
        Names of the classes, in order; their numbers if it is empty.
    positive : str
        Of two classes, the one that is to be found; empty: the rarer one.
    """

    classes: int
    test_rows: int
    features: Callable[[Path, bool], Features]
    labels: Callable[[Path, bool], Labels]
    columns: Callable[[Path, bool], Columns] | None = None
    class_names: tuple[str, ...] = ()
    positive: str = ""

    def names(self) -> tuple[str, ...]:
        """Return the names of the classes, by label."""
        return self.class_names or tuple(map(str, range(self.classes)))


def of_parts(classes: int, test_rows: int, load: _Parts) -> DataSet:
    """Describe images whose parts are read at once, as bytes."""

    def joined(folder: Path, download: bool) -> tuple[Pixels, Labels]:
        pixels, labels = zip(*load(folder, download), strict=True)
        return np.concatenate(pixels), np.concatenate(labels)

    return of_whole(classes, test_rows, joined)


def of_whole(classes: int, test_rows: int, load: _Whole) -> DataSet:
    """Describe a data set whose features and labels are read together."""
    return DataSet(
        classes,
        test_rows,
        lambda folder, may: _loaded(load, folder, may)[0],
        lambda folder, may: _loaded(load, folder, may)[1],
    )


@lru_cache(maxsize=1)  # features and labels are asked for one after the other
def _loaded(load: Callable[[Path, bool], L], folder: Path, download: bool) -> L:
    return load(folder, download)


def dataset_of(name: str) -> DataSet:
    """Import a data set by its name in `vfl_flower.config.dataset_specs`."""
    made: DataSet = load_object(DATASETS[name].source)
    return made
