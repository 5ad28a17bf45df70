"""Published data sets, where a folder of the machine has them."""

import os
from pathlib import Path

import numpy as np
import pytest

from vfl_flower.data.columns import Features
from vfl_flower.data.datasets import dataset_of
from vfl_flower.data.sources.csv_catalog import (
    ADULT_TABLE,
    BREAST_CANCER_ORIGINAL_TABLE,
    CREDIT_CARD_FRAUD_TABLE,
    CREDIT_DEFAULT_TABLE,
    PIMA_TABLE,
)
from vfl_flower.data.sources.csv_tables import Source, read

if "VFL_FLOWER_DATA" not in os.environ:
    pytest.skip("VFL_FLOWER_DATA names no folder", allow_module_level=True)

FOLDER = Path(os.environ["VFL_FLOWER_DATA"])


@pytest.mark.parametrize(
    ("name", "subfolder", "shape"),
    [
        ("mnist", "MNIST/raw", (70_000, 1, 28, 28)),
        ("fashion-mnist", "FashionMNIST/raw", (70_000, 1, 28, 28)),
        ("cifar10", "cifar-10-batches-py", (60_000, 3, 32, 32)),
        ("cifar100", "cifar-100-python", (60_000, 3, 32, 32)),
    ],
)
def test_images(name: str, subfolder: str, shape: tuple[int, ...]) -> None:
    entry = dataset_of(name)
    if not (FOLDER / subfolder).is_dir():
        pytest.skip(f"VFL_FLOWER_DATA holds no {subfolder}")
    features: Features = entry.features(FOLDER, False)
    labels = entry.labels(FOLDER, False)
    assert (features.shape, features.dtype.str) == (shape, "|u1")
    assert (features.min(), features.max()) == (0, 255)
    assert (labels.shape, labels.dtype.str) == (shape[:1], "<i8")
    test = np.bincount(labels[-entry.test_rows :], minlength=entry.classes)
    assert test.min() > 0.8 * entry.test_rows / entry.classes
    assert sorted(set(labels.tolist())) == list(range(entry.classes))


@pytest.mark.parametrize(
    ("source", "shape", "ones", "gaps", "categorical"),
    [
        (ADULT_TABLE, (48842, 14), 11687, 2799 + 2809 + 857, 8),
        (BREAST_CANCER_ORIGINAL_TABLE, (699, 9), 241, 16, 0),
        (PIMA_TABLE, (768, 8), 268, 5 + 35 + 227 + 374 + 11, 0),
        (CREDIT_DEFAULT_TABLE, (30000, 23), 6636, 0, 3),
        (CREDIT_CARD_FRAUD_TABLE, (284807, 30), 492, 0, 0),
    ],
    ids=lambda value: value.folder if isinstance(value, Source) else str(value),
)
def test_tables(
    source: Source, shape: tuple[int, int], ones: int, gaps: int, categorical: int
) -> None:
    if not (FOLDER / source.folder).is_dir():
        pytest.skip(f"VFL_FLOWER_DATA holds no {source.folder}")
    table = read(source, FOLDER)
    assert table.features.shape == shape
    assert (table.labels == 1).sum() == ones
    assert np.isnan(table.features).sum() == gaps
    assert sum(column.values is not None for column in table.columns) == categorical
