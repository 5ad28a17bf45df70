"""The data sets by name: features and labels of all rows, the published test rows last."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from vfl_flower.common.errors import DataError
from vfl_flower.common.names import load_object
from vfl_flower.config.dataset_specs import DATASETS
from vfl_flower.data.columns import Column, Columns, Features, Labels, Pixels
from vfl_flower.data.sources import csv_catalog, torchvision_images
from vfl_flower.data.sources.cinic10 import Cinic10
from vfl_flower.data.sources.csv_tables import Source, read
from vfl_flower.data.sources.modelnet40 import ModelNet40
from vfl_flower.data.sources.nus_wide import CONCEPTS, NusWide
from vfl_flower.data.sources.torchvision_images import Published


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
    features, labels : callable
        From (folder, may download) to all rows.
    columns : callable, optional
        From (folder, may download) to what a table's columns are.
    class_names : tuple of str
        What the classes are called, in order; empty: by their numbers.
    """

    classes: int
    test_rows: int
    features: Callable[[Path, bool], Features]
    labels: Callable[[Path, bool], Labels]
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

    return DataSet(10, 0, lambda *_: load()[0], lambda *_: load()[1])


def _bundled(name: str, *class_names: str) -> DataSet:
    """Describe one of the tables that scikit-learn brings along."""
    return DataSet(
        len(class_names),
        0,
        lambda *_: _bunch(name).data.astype(np.float32),
        lambda *_: _bunch(name).target.astype(np.int64),
        columns=lambda *_: tuple(Column(str(each)) for each in _bunch(name).feature_names),
        class_names=class_names,
    )


def _bunch(name: str) -> Any:  # noqa: ANN401
    from sklearn import datasets  # a second's import, for these data sets only

    return getattr(datasets, f"load_{name}")()


def _table(source: Source) -> DataSet:
    """Describe a table in local files."""
    return DataSet(
        len(source.classes),
        0,
        lambda folder, _: read(source, folder).features,
        lambda folder, _: read(source, folder).labels,
        columns=lambda folder, _: read(source, folder).columns,
        class_names=source.classes,
    )


def _published(source: Published | Cinic10, classes: int) -> DataSet:
    return DataSet(
        classes, source.rows[1], partial(_pixels_of, source), partial(_labels_of, source)
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


def _whole(source: NusWide | ModelNet40, classes: int) -> DataSet:
    """Describe a data set whose source reads features and labels of all rows in one go."""
    return DataSet(
        classes,
        source.rows[1],
        lambda folder, _: _loaded(source, folder)[0],
        lambda folder, _: _loaded(source, folder)[1],
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


def dataset_of(name: str) -> DataSet:
    """Import a data set by its name in `vfl_flower.config.dataset_specs`."""
    made: DataSet = load_object(DATASETS[name].source)
    return made


OWN = DataSet(0, 0, _nobodys, _nobodys)
DIGITS = _digits()
BREAST_CANCER = _bundled("breast_cancer", "malignant", "benign")
WINE = _bundled("wine", "class_0", "class_1", "class_2")
ADULT = _table(csv_catalog.ADULT)
BREAST_CANCER_ORIGINAL = _table(csv_catalog.BREAST_CANCER_ORIGINAL)
PIMA = _table(csv_catalog.PIMA)
CREDIT_DEFAULT = _table(csv_catalog.CREDIT_DEFAULT)
CREDIT_CARD_FRAUD = _table(csv_catalog.CREDIT_CARD_FRAUD)
NUS_WIDE = _whole(NusWide(), CONCEPTS)
MNIST = _published(torchvision_images.MNIST, 10)
FASHION_MNIST = _published(torchvision_images.FASHION_MNIST, 10)
CIFAR10 = _published(torchvision_images.CIFAR10, 10)
CIFAR100 = _published(torchvision_images.CIFAR100, 100)
CINIC10 = _published(Cinic10(), 10)
MODELNET40 = _whole(ModelNet40(), len(ModelNet40.classes))
