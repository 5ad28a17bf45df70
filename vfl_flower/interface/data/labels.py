"""Predicted classes in the type of the labels."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from vfl_flower.common.errors import VflError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.tables.description import described_at
from vfl_flower.data.tables.files import ParquetFile, plain
from vfl_flower.data.tables.prediction_file import class_names


def type_labels(frame: Any, cfg: RunConfig) -> None:  # noqa: ANN401
    """Convert predictions and truth to the types of the active party's labels.

    They become whole numbers, numbers or booleans, in place; texts stay where labels are of another
    type, or their table is a CSV file or not there any more.

    Parameters
    ----------
    frame : DataFrame
        Predictions, with texts for classes.
    cfg : RunConfig
        Of the run.
    """
    for end, type_ in (_label_types(cfg) if cfg.own_tables else {}).items():
        for name in {f"prediction{end}", f"truth{end}"} & {*frame.columns}:
            frame[name] = _typed(frame[name], type_)


def _typed(classes: Any, type_: Any) -> Any:  # noqa: ANN401
    """Convert classes, (N,); the numbers of a regression stay."""
    if type_ is None or classes.dtype.kind in "biuf":
        return classes
    try:
        return pa.array(classes, pa.string()).cast(type_).to_pandas()
    except pa.ArrowInvalid:
        return classes


def _label_types(cfg: RunConfig) -> dict[str, Any]:
    """Return types of labels by a column's ending; None for texts."""
    try:
        table = described_at(Path(cfg.table_of(0)), 0, cfg.id, cfg.label)
        if table.file.suffix.lower() not in (".parquet", ".pq"):
            return {}
        file = ParquetFile(table.file, "active")
    except VflError:
        return {}
    labels = [*map(plain, table.labels)]
    ends = [f"_{name}" for name in class_names(labels)] if table.several else [""]
    return {end: _type(file, label) for end, label in zip(ends, labels, strict=True)}


def _type(file: ParquetFile, label: str) -> Any:  # noqa: ANN401
    found = file.type_of(label) if label in file.names else pa.null()
    kinds = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating)
    return found if any(of_kind(found) for of_kind in kinds) else None
