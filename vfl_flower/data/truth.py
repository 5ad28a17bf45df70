"""Labels of the active party's rows, to stand beside predictions."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vfl_flower.common.errors import ConfigError, DataError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.columns import Column
from vfl_flower.data.loading import run_data
from vfl_flower.data.table_data import table_of
from vfl_flower.data.tables.description import described
from vfl_flower.data.tables.prediction_file import class_names


def truth_of(cfg: RunConfig) -> dict[str, pa.Array]:
    """Return the labels of the active party's whole table or data set.

    Returns
    -------
    dict of str to pyarrow.Array
        (N,), the column ``truth``: texts, as the file writes them, or names of classes; of a
        regression float64. Of several labels the columns ``truth_LABEL``.

    Raises
    ------
    ConfigError
        If the description of the table names no label.
    DataError
        If the table has none, or cannot be read.
    """
    if cfg.own_tables:
        return _labels_of(cfg)
    labels, names = run_data(cfg).classes()
    return {"truth": pa.array(np.array(names, object)[labels])}


def _labels_of(cfg: RunConfig) -> dict[str, pa.Array]:
    """Read the labels of the active party's whole table."""
    description = described(cfg, 0)
    if not description.labels:
        raise ConfigError(
            f"active: {cfg.table_of(0)} names no label, and truth is to be written; add the line "
            'label = "COLUMN", or leave truth out'
        )
    table = table_of(cfg, 0)
    if table.labels is None or table.label is None:
        raise DataError(
            f"active: {description.file.name} has no labels in '{', '.join(description.labels)}', "
            "and truth is to be written; add them, or leave truth out"
        )
    if not table.label.parts:
        return {"truth": _cells(table.label, table.labels)}
    pairs = zip(class_names(table.label.values or ()), table.label.parts, strict=True)
    return {
        f"truth_{name}": _cells(part, table.labels[:, n]) for n, (name, part) in enumerate(pairs)
    }


def _cells(label: Column, labels: NDArray[np.float64]) -> pa.Array:
    """Return labels, (N,), as the file writes them."""
    if label.values is None:
        return pa.array(labels)
    return pa.array(label.values, pa.string()).take(pa.array(labels.astype(np.intp)))
