"""Data sets that scikit-learn brings along."""

from functools import cache
from typing import Any

import numpy as np

from vfl_flower.data.columns import Column, Features
from vfl_flower.data.datasets import DataSet


def _bundled(name: str, *class_names: str, positive: str = "") -> DataSet:
    """Describe a table."""
    return DataSet(
        len(class_names),
        0,
        lambda *_: _bunch(name).data.astype(np.float32),
        lambda *_: _bunch(name).target.astype(np.int64),
        columns=lambda *_: tuple(Column(str(each)) for each in _bunch(name).feature_names),
        class_names=class_names,
        positive=positive,
    )


def _images(*_: object) -> Features:
    """Read the digits with their one channel."""
    images: Features = _bunch("digits").images[:, None].astype(np.float32)
    return images


@cache
def _bunch(name: str) -> Any:  # noqa: ANN401
    """Parse a bundled file, once a process; its readers copy the arrays."""
    # scikit-learn is slow to import
    from sklearn import datasets

    return getattr(datasets, f"load_{name}")()


DIGITS = DataSet(10, 0, _images, lambda *_: _bunch("digits").target.astype(np.int64))
BREAST_CANCER = _bundled("breast_cancer", "malignant", "benign", positive="malignant")
WINE = _bundled("wine", "class_0", "class_1", "class_2")
