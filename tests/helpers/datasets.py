"""Data sets that tests make."""

import sys

import pytest

from vfl_flower.config.dataset_specs import DATASETS, DataSetSpec
from vfl_flower.data.datasets import DataSet


def add_dataset(
    monkeypatch: pytest.MonkeyPatch, name: str, made: DataSet, *, images: bool = False
) -> None:
    """Make a data set known to the configuration for one test."""
    monkeypatch.setattr(sys.modules[__name__], name, made, raising=False)
    monkeypatch.setitem(DATASETS, name, DataSetSpec(f"{__name__}:{name}", images=images))
