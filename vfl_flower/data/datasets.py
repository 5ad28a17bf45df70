"""The data sets by name: features and labels of all rows, the published test rows last."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vfl_flower.data.images import (
    CIFAR10,
    CIFAR100,
    FASHION_MNIST,
    MNIST,
    Cinic10,
    Pixels,
    Published,
)

Features = NDArray[np.float32]  # (N, channels, height, width) or (N, columns)
Labels = NDArray[np.int64]  # (N,)

TEST_SHARE = 0.2
"""Of the rows of a data set without a published test part."""


@dataclass(frozen=True)
class DataSet:
    """One data set.

    Attributes
    ----------
    classes : int
        Labels are 0 to classes - 1.
    test_rows : int
        How many rows at the end are the published test part; 0 if there is none, and a share of
        all rows is drawn by seed.
    small : bool
        Whether training the two bounds too is a matter of seconds.
    features, labels : callable
        From (folder, may download) to all rows.
    images : bool
        Whether a row is an image, and not a row of a table.
    """

    classes: int
    test_rows: int
    small: bool
    features: Callable[[Path, bool], Features]
    labels: Callable[[Path, bool], Labels]
    images: bool = True


def _bundled(name: str, classes: int, images: bool) -> DataSet:
    """Describe one of the data sets that scikit-learn brings along."""

    def load() -> tuple[Features, Labels]:
        from sklearn import datasets  # a second's import, for these data sets only

        bunch = getattr(datasets, f"load_{name}")()
        features = bunch.images[:, None] if images else bunch.data
        return features.astype(np.float32), bunch.target.astype(np.int64)

    return DataSet(classes, 0, True, lambda *_: load()[0], lambda *_: load()[1], images)


def _published(source: Published | Cinic10, classes: int) -> DataSet:
    return DataSet(
        classes, source.rows[1], False, partial(_pixels_of, source), partial(_labels_of, source)
    )


@lru_cache(maxsize=1)  # features and labels are asked for one after the other
def _parts(
    source: Published | Cinic10, folder: Path, download: bool
) -> list[tuple[Pixels, Labels]]:
    return source.parts(folder, download)


def _pixels_of(source: Published | Cinic10, folder: Path, download: bool) -> Features:
    pixels = [pixels for pixels, _ in _parts(source, folder, download)]
    return np.concatenate(pixels).astype(np.float32) / np.float32(255)


def _labels_of(source: Published | Cinic10, folder: Path, download: bool) -> Labels:
    return np.concatenate([labels for _, labels in _parts(source, folder, download)])


DATASETS = {
    "digits": _bundled("digits", 10, images=True),
    "breast-cancer": _bundled("breast_cancer", 2, images=False),
    "wine": _bundled("wine", 3, images=False),
    "mnist": _published(MNIST, 10),
    "fashion-mnist": _published(FASHION_MNIST, 10),
    "cifar10": _published(CIFAR10, 10),
    "cifar100": _published(CIFAR100, 100),
    "cinic10": _published(Cinic10(), 10),
}
