"""Predicted classes in the type of the labels."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from vfl_flower.common.errors import VflError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.tables.description import described_at
from vfl_flower.data.tables.files import ParquetFile, plain


def typed_classes(classes: Any, cfg: RunConfig) -> Any:  # noqa: ANN401
    """Convert predicted classes to the type of the active party's labels.

    Parameters
    ----------
    classes : Series of str
        (N,), or the numbers of a regression, which stay.
    cfg : RunConfig
        Of the run.

    Returns
    -------
    Series
        (N,): whole numbers, numbers or booleans; texts where labels are of another type, or their
        table is a CSV file or not there any more.
    """
    type_ = _label_type(cfg) if cfg.own_tables and classes.dtype.kind not in "biuf" else None
    if type_ is None:
        return classes
    try:
        return pa.array(classes, pa.string()).cast(type_).to_pandas()
    except pa.ArrowInvalid:
        return classes


def _label_type(cfg: RunConfig) -> Any:  # noqa: ANN401
    """Return the type of labels that are no texts; None for others."""
    try:
        table = described_at(Path(cfg.table_of(0)), 0)
        if table.file.suffix.lower() not in (".parquet", ".pq"):
            return None
        file, label = ParquetFile(table.file, "active"), plain(table.label)
    except VflError:
        return None
    found = file.type_of(label) if label in file.names else pa.null()
    kinds = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating)
    return found if any(of_kind(found) for of_kind in kinds) else None
