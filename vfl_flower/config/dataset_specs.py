"""Data sets by name, with the facts that checks and defaults need."""

from dataclasses import dataclass


@dataclass(frozen=True)
class DataSetSpec:
    """Static facts of a data set.

    Attributes
    ----------
    source : str
        ``module:name`` of its `vfl_flower.data.datasets.DataSet`.
    images : bool
        Whether a sample is an image, and not a row of a table.
    small : bool
        Whether training both baselines too is a matter of seconds.
    in_data_dir : bool
        Whether it is read from ``data-dir``.
    needs : str
        Import name of the optional package that reads it; see `vfl_flower.common.optional.extras`.
    """

    source: str
    images: bool = False
    small: bool = False
    in_data_dir: bool = True
    needs: str = ""


SOURCES = "vfl_flower.data.sources"
CSV, TORCHVISION = f"{SOURCES}.csv_catalog", f"{SOURCES}.torchvision_images"
DATASETS = {
    "digits": DataSetSpec(
        f"{SOURCES}.scikit_learn:DIGITS", images=True, small=True, in_data_dir=False
    ),
    "breast-cancer": DataSetSpec(
        f"{SOURCES}.scikit_learn:BREAST_CANCER", small=True, in_data_dir=False
    ),
    "wine": DataSetSpec(f"{SOURCES}.scikit_learn:WINE", small=True, in_data_dir=False),
    "adult": DataSetSpec(f"{CSV}:ADULT"),
    "breast-cancer-original": DataSetSpec(f"{CSV}:BREAST_CANCER_ORIGINAL", small=True),
    "pima": DataSetSpec(f"{CSV}:PIMA", small=True),
    "credit-default": DataSetSpec(f"{CSV}:CREDIT_DEFAULT"),
    "credit-card-fraud": DataSetSpec(f"{CSV}:CREDIT_CARD_FRAUD"),
    "nus-wide": DataSetSpec(f"{SOURCES}.nus_wide:NUS_WIDE"),
    "mnist": DataSetSpec(f"{TORCHVISION}:MNIST", images=True, needs="torchvision"),
    "fashion-mnist": DataSetSpec(f"{TORCHVISION}:FASHION_MNIST", images=True, needs="torchvision"),
    "cifar10": DataSetSpec(f"{TORCHVISION}:CIFAR10", images=True, needs="torchvision"),
    "cifar100": DataSetSpec(f"{TORCHVISION}:CIFAR100", images=True, needs="torchvision"),
    "cinic10": DataSetSpec(f"{SOURCES}.cinic10:CINIC10", images=True, needs="PIL"),
    "modelnet40": DataSetSpec(f"{SOURCES}.modelnet40:MODELNET40", images=True, needs="PIL"),
    "own": DataSetSpec(f"{SOURCES}.own_tables:OWN", in_data_dir=False),
}
"""Data sets by name. One line here makes a data set known everywhere."""

CSV_FILES = tuple(f"{text}{packed}" for packed in ("", ".gz") for text in (".csv", ".tsv", ".txt"))
PARQUET_FILES = (".parquet", ".pq")

MOST_ID_COLUMNS = 4
"""Columns of a table that tell its rows apart together."""


def is_table(path: str) -> bool:
    """Tell a table from a description, by its suffix."""
    return path.lower().endswith(CSV_FILES + PARQUET_FILES)
