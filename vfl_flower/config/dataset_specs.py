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
    """

    source: str
    images: bool = False
    small: bool = False


HERE = "vfl_flower.data.datasets"
DATASETS = {
    "digits": DataSetSpec(f"{HERE}:DIGITS", images=True, small=True),
    "breast-cancer": DataSetSpec(f"{HERE}:BREAST_CANCER", small=True),
    "wine": DataSetSpec(f"{HERE}:WINE", small=True),
    "adult": DataSetSpec(f"{HERE}:ADULT"),
    "breast-cancer-original": DataSetSpec(f"{HERE}:BREAST_CANCER_ORIGINAL", small=True),
    "pima": DataSetSpec(f"{HERE}:PIMA", small=True),
    "credit-default": DataSetSpec(f"{HERE}:CREDIT_DEFAULT"),
    "credit-card-fraud": DataSetSpec(f"{HERE}:CREDIT_CARD_FRAUD"),
    "nus-wide": DataSetSpec(f"{HERE}:NUS_WIDE"),
    "mnist": DataSetSpec(f"{HERE}:MNIST", images=True),
    "fashion-mnist": DataSetSpec(f"{HERE}:FASHION_MNIST", images=True),
    "cifar10": DataSetSpec(f"{HERE}:CIFAR10", images=True),
    "cifar100": DataSetSpec(f"{HERE}:CIFAR100", images=True),
    "cinic10": DataSetSpec(f"{HERE}:CINIC10", images=True),
    "modelnet40": DataSetSpec(f"{HERE}:MODELNET40", images=True),
    "own": DataSetSpec(f"{HERE}:OWN"),
}
"""Data sets by name. One line here makes a data set known everywhere."""
