"""Predictions for named rows, written as CSV or Parquet."""

import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from vfl_flower.common.errors import DataError
from vfl_flower.common.files import write_atomically
from vfl_flower.data.tables.row_ids import Ids

_SUFFIXES = (".csv", ".parquet")

_FORMULA = r"^'*[\s\x00-\x1f]*[=+\-@\t\r\n\x{ff1d}\x{ff0b}\x{ff0d}\x{ff20}]"
"""Text that a spreadsheet takes for a formula; the last four are wide forms of the signs."""

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


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
    """Write columns by name, (N,) each, as CSV or Parquet; see `quoted`."""
    table, buffer = pa.table(dict(columns)), io.BytesIO()
    if path.suffix.lower() == ".parquet":
        pa.parquet.write_table(table, buffer)
    else:
        for place, name in enumerate(table.column_names):
            table = table.set_column(place, name, quoted(table.column(place)))
        pa.csv.write_csv(table, buffer)
    write_atomically(path, buffer.getvalue())


def quoted(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Put a quote before text that spreadsheets run as formulas.

    Numbers stay as they are, written as text too. A cell that has quotes before such text gets one
    more, so that whoever removes one from each cell that `_FORMULA` matches has the text back.
    """
    if not pa.types.is_string(cells.type) and not pa.types.is_large_string(cells.type):
        return cells
    risky = pc.and_(
        pc.match_substring_regex(cells, _FORMULA),
        pc.invert(pc.match_substring_regex(cells, _NUMBER)),
    )
    quote, nothing = (pa.scalar(text, cells.type) for text in ("'", ""))
    return pc.if_else(risky, pc.binary_join_element_wise(quote, cells, nothing), cells)


def _same(path: Path, other: Path) -> bool:
    """Tell whether two paths are one file, through links as well."""
    if path.exists() and other.exists():
        return path.samefile(other)
    return path.resolve() == other.resolve()
