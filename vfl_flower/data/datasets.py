"""The data sets by name: features and labels of all rows, the published test rows last."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfl_flower.errors import DataError, last_line

Features = NDArray[np.float32]  # (N, channels, height, width) or (N, columns)
Labels = NDArray[np.int64]  # (N,)

DIGITS_TEST_SHARE = 0.2
FILES = (
    *("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    *("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
)
PUBLISHED = {True: 60_000, False: 10_000}  # rows of the training and the test part


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
    """

    classes: int
    test_rows: int
    small: bool
    features: Callable[[Path, bool], Features]
    labels: Callable[[Path, bool], Labels]


def _digits_features(folder: Path, download: bool) -> Features:
    from sklearn.datasets import load_digits  # a second's import, for this data set only

    return load_digits().images.astype(np.float32)[:, None]  # type: ignore[no-any-return]


def _digits_labels(folder: Path, download: bool) -> Labels:
    from sklearn.datasets import load_digits

    return load_digits().target.astype(np.int64)  # type: ignore[no-any-return]


def _torchvision_features(name: str, folder: Path, download: bool) -> Features:
    parts = [part.data.numpy() for part in _torchvision(name, folder, download)]
    return np.concatenate(parts).astype(np.float32)[:, None] / np.float32(255)


def _torchvision_labels(name: str, folder: Path, download: bool) -> Labels:
    parts = [part.targets.numpy() for part in _torchvision(name, folder, download)]
    return np.concatenate(parts).astype(np.int64)


def _torchvision(name: str, folder: Path, download: bool):  # type: ignore[no-untyped-def]  # noqa: ANN202
    """Return torchvision's training and test part: local files first, then a download."""
    from vfl_flower.data.torchvision_import import datasets

    kind = getattr(datasets, name)
    try:
        folder = folder.resolve()
        if not all((folder / name / "raw" / file).exists() for file in FILES):
            _download(kind, folder, download)
        parts = [kind(folder, train=train, download=False) for train in PUBLISHED]
        for part, rows in zip(parts, PUBLISHED.values(), strict=True):
            if (len(part.data), len(part.targets)) != (rows, rows):
                raise ValueError(
                    f"{len(part.data)} images and {len(part.targets)} labels stand where {rows} "
                    "are published"
                )
    except (RuntimeError, ValueError, AssertionError, EOFError, IndexError, OSError) as error:
        raise DataError(
            f"{name} in {folder / name / 'raw'} is damaged or not whole ({last_line(error)}); "
            "delete that folder and get the data set again"
        ) from error
    return parts


def _download(kind: Any, folder: Path, allowed: bool) -> None:  # noqa: ANN401
    """Fetch a data set that is not there."""
    name = kind.__name__
    place = f"{name} is not in {folder} (torchvision's layout: {name}/raw/...)"
    if not allowed:
        raise DataError(f"{place}; set data-dir, or allow download")
    there = folder.exists()
    try:
        kind(folder, download=True)
    except (RuntimeError, OSError) as error:
        with contextlib.suppress(OSError):  # torchvision's empty folders; never one with files
            for made in (folder / name / "raw", folder / name, *([] if there else [folder])):
                made.rmdir()
        reason = " ".join(str(error).split())
        raise DataError(f"{place} and cannot be downloaded: {reason}; set data-dir") from error


def _torchvision_set(name: str) -> DataSet:
    return DataSet(
        classes=10,
        test_rows=10_000,
        small=False,
        features=partial(_torchvision_features, name),
        labels=partial(_torchvision_labels, name),
    )


DATASETS = {
    "digits": DataSet(10, 0, True, _digits_features, _digits_labels),
    "mnist": _torchvision_set("MNIST"),
    "fashion-mnist": _torchvision_set("FashionMNIST"),
}
