"""Made table of any size, as a data set."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np

from vfl_flower.config.dataset_specs import DATASETS, DataSetSpec
from vfl_flower.data.columns import Features, Labels
from vfl_flower.data.datasets import DataSet

NAME = "made"
"""Of the data set, while `made_table` lasts."""


@contextmanager
def made_table(rows: int, columns: int) -> Iterator[None]:
    """Make `NAME` a table; its label is the sign of a sum."""

    def features(folder: Path, download: bool) -> Features:
        return np.random.default_rng(0).standard_normal((rows, columns), np.float32)

    def labels(folder: Path, download: bool) -> Labels:
        positive: Labels = (features(folder, download).sum(1) > 0).astype(np.int64)
        return positive

    made = DataSet(2, 0, features, labels)
    known = {NAME: DataSetSpec(f"{__name__}:MADE")}
    with patch.dict(DATASETS, known), patch.dict(globals(), MADE=made):
        yield
