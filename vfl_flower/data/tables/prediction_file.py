"""Predictions for named rows, written as CSV or Parquet."""

import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from vfl_flower.common.errors import DataError
from vfl_flower.common.files import write_atomically
from vfl_flower.data.tables.row_ids import Ids

_SUFFIXES = (".csv", ".parquet")


def write_predictions(
    path: Path,
    ids: Ids,
    prediction: Sequence[str] | NDArray[Any],
    probabilities: NDArray[np.float32] | None = None,
    classes: Sequence[str] = (),
) -> None:
    """Write predictions of rows atomically.

    Parameters
    ----------
    path : Path
        Ends in .csv or .parquet; a file that is there is replaced. Its owner alone may read it.
    ids : pyarrow.Int64Array or pyarrow.LargeStringArray
        (N,), the column ``id``.
    prediction : sequence of str, or ndarray
        (N,), the column ``prediction``: a class, or a number in the file's unit.
    probabilities : ndarray of float32, optional
        (N, C), the columns ``probability of <class>``.
    classes : sequence of str
        C of them.

    Raises
    ------
    RunError
        If it cannot be written.
    """
    columns = {"id": ids, "prediction": pa.array(prediction)}
    if probabilities is not None:
        pairs = zip(classes, probabilities.T, strict=True)
        columns |= {f"probability of {name}": pa.array(share) for name, share in pairs}
    write_columns(path, columns)


def check_path(path: Path, inputs: Sequence[Path]) -> None:
    """Refuse an output file that cannot be written, or is an input.

    Raises
    ------
    DataError
        Says why.
    """
    if path.suffix.lower() not in _SUFFIXES:
        raise DataError(f"{path} must end in {' or '.join(_SUFFIXES)}")
    if path.is_dir():
        raise DataError(f"{path} is a folder; name a file")
    above = next(each for each in path.absolute().parents if each.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise DataError(f"{path} cannot be written: {above} is no folder that one may write to")
    if any(_same(path, each) for each in inputs):
        raise DataError(f"{path} is an input of this prediction; write to another file")


def write_columns(path: Path, columns: Mapping[str, Any]) -> None:
    """Write columns by name, (N,) each, as CSV or Parquet."""
    table, buffer = pa.table(dict(columns)), io.BytesIO()
    if path.suffix.lower() == ".parquet":
        pa.parquet.write_table(table, buffer)
    else:
        pa.csv.write_csv(table, buffer)
    write_atomically(path, buffer.getvalue())


def _same(path: Path, other: Path) -> bool:
    """Tell whether two paths are one file, through links as well."""
    if path.exists() and other.exists():
        return path.samefile(other)
    return path.resolve() == other.resolve()
