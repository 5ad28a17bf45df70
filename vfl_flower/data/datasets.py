"""The data sets by name: features and labels of all rows, the published test rows last."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from vfl_flower.common.errors import DataError
from vfl_flower.data.columns import Column, Columns, Features, Labels, Pixels
from vfl_flower.data.sources.cinic10 import Cinic10
from vfl_flower.data.sources.csv_catalog import (
    ADULT,
    BREAST_CANCER_ORIGINAL,
    CREDIT_CARD_FRAUD,
    CREDIT_DEFAULT,
    PIMA,
)
from vfl_flower.data.sources.csv_tables import Source, read
from vfl_flower.data.sources.modelnet40 import ModelNet40
from vfl_flower.data.sources.nus_wide import CONCEPTS, NusWide
from vfl_flower.data.sources.torchvision_images import (
    CIFAR10,
    CIFAR100,
    FASHION_MNIST,
    MNIST,
    Published,
)


@dataclass(frozen=True)
class DataSet:
    """One data set.

    Attributes
    ----------
    classes : int
        Labels are 0 to classes - 1; 0 classes if that is the parties' own tables' to say.
    test_rows : int
        How many rows at the end are the published test part; 0 if there is none, and a share of
        all rows is drawn by seed.
    small : bool
        Whether training the two bounds too is a matter of seconds.
    features, labels : callable
        From (folder, may download) to all rows.
    images : bool
        Whether a row is an image, and not a row of a table.
    columns : callable, optional
        From (folder, may download) to what a table's columns are.
    class_names : tuple of str
        What the classes are called, in order; empty: by their numbers.
    """

    classes: int
    test_rows: int
    small: bool
    features: Callable[[Path, bool], Features]
    labels: Callable[[Path, bool], Labels]
    images: bool = True
    columns: Callable[[Path, bool], Columns] | None = None
    class_names: tuple[str, ...] = ()

    def names(self) -> tuple[str, ...]:
        """Return what the classes are called, by label."""
        return self.class_names or tuple(map(str, range(self.classes)))


def _digits() -> DataSet:
    """Describe the images that scikit-learn brings along."""

    def load() -> tuple[Features, Labels]:
        bunch = _bunch("digits")
        return bunch.images[:, None].astype(np.float32), bunch.target.astype(np.int64)

    return DataSet(10, 0, True, lambda *_: load()[0], lambda *_: load()[1])


def _bundled(name: str, *class_names: str) -> DataSet:
    """Describe one of the tables that scikit-learn brings along."""
    return DataSet(
        len(class_names),
        0,
        True,
        lambda *_: _bunch(name).data.astype(np.float32),
        lambda *_: _bunch(name).target.astype(np.int64),
        images=False,
        columns=lambda *_: tuple(Column(str(each)) for each in _bunch(name).feature_names),
        class_names=class_names,
    )


def _bunch(name: str) -> Any:  # noqa: ANN401
    from sklearn import datasets  # a second's import, for these data sets only

    return getattr(datasets, f"load_{name}")()


def _table(source: Source, small: bool) -> DataSet:
    """Describe a table in local files."""
    return DataSet(
        len(source.classes),
        0,
        small,
        lambda folder, _: read(source, folder).features,
        lambda folder, _: read(source, folder).labels,
        images=False,
        columns=lambda folder, _: read(source, folder).columns,
        class_names=source.classes,
    )


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


def _whole(source: NusWide | ModelNet40, classes: int, images: bool) -> DataSet:
    """Describe a data set whose source reads features and labels of all rows in one go."""
    return DataSet(
        classes,
        source.rows[1],
        False,
        lambda folder, _: _loaded(source, folder)[0],
        lambda folder, _: _loaded(source, folder)[1],
        images=images,
    )


@lru_cache(maxsize=1)  # features and labels are asked for one after the other
def _loaded(source: NusWide | ModelNet40, folder: Path) -> tuple[Features, Labels]:
    return source.load(folder)


OWN_TABLES_ONLY = (
    "with dataset own, columns and labels are in the parties' own tables, and nobody has them all; "
    "this needs another data set"
)


def _nobodys(*_: object) -> NoReturn:
    """Refuse to read everybody's columns where each party has a table of its own."""
    raise DataError(OWN_TABLES_ONLY)


DATASETS = {
    "own": DataSet(0, 0, small=False, features=_nobodys, labels=_nobodys, images=False),
    "digits": _digits(),
    "breast-cancer": _bundled("breast_cancer", "malignant", "benign"),
    "wine": _bundled("wine", "class_0", "class_1", "class_2"),
    "adult": _table(ADULT, small=False),
    "breast-cancer-original": _table(BREAST_CANCER_ORIGINAL, small=True),
    "pima": _table(PIMA, small=True),
    "credit-default": _table(CREDIT_DEFAULT, small=False),
    "credit-card-fraud": _table(CREDIT_CARD_FRAUD, small=False),
    "nus-wide": _whole(NusWide(), CONCEPTS, images=False),
    "mnist": _published(MNIST, 10),
    "fashion-mnist": _published(FASHION_MNIST, 10),
    "cifar10": _published(CIFAR10, 10),
    "cifar100": _published(CIFAR100, 100),
    "cinic10": _published(Cinic10(), 10),
    "modelnet40": _whole(ModelNet40(), len(ModelNet40.classes), images=True),
}
