"""Data sets, how their columns are dealt out, and what one party gets to hold."""

from vfl_flower.data.datasets import DATASETS
from vfl_flower.data.holdings import (
    all_columns,
    classes_of,
    columns_of,
    labels_of,
    rows_of,
    shares_of,
    target_of,
)
from vfl_flower.data.partition import PARTITIONS, Deal, grid_for

__all__ = [
    "DATASETS",
    "PARTITIONS",
    "Deal",
    "all_columns",
    "classes_of",
    "columns_of",
    "grid_for",
    "labels_of",
    "rows_of",
    "shares_of",
    "target_of",
]
