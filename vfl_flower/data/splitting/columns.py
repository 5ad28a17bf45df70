"""Columns of a table that splits go by."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from vfl_flower.data.columns import BOOLEAN, NUMBER
from vfl_flower.data.tables.cells import as_numbers, known, type_name
from vfl_flower.data.tables.description import Description
from vfl_flower.data.tables.files import TableFile, plain
from vfl_flower.data.tables.formats.opened import opened

_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def split_column(description: Description, key: str, party: str) -> NDArray[np.float64]:
    """Read the column that a description names for the split.

    Parameters
    ----------
    description : Description
        Of the table.
    key : str
        ``group`` or ``time``.
    party : str
        Whose it is, for errors.

    Returns
    -------
    ndarray
        (N,) float64: numbers of groups, or times that can be compared.

    Raises
    ------
    DataError
        If the table has no such column, a row has no value, or a time is neither a number nor an
        ISO date.
    """
    name = plain(getattr(description, key))
    with opened(description.file, party, description.separator) as file:
        if name not in file.names:
            raise file.refused(file.lacks(name), f"it has {', '.join(file.names)}")
        chunks = [batch[name] for batch in file.batches([name])]
        cells = pa.chunked_array(chunks, chunks[0].type if chunks else pa.string())
        values = _READ[key](cells.combine_chunks(), description, file, name)
    if gaps := np.flatnonzero(np.isnan(values)).size:
        raise file.refused(
            f"has no {key} in {gaps} of {len(values)} rows of column '{name}'; add them, or leave "
            "the rows out"
        )
    return values


def _groups(
    cells: Any,  # noqa: ANN401
    description: Description,
    file: TableFile,
    name: str,
) -> NDArray[np.float64]:
    """Return a number for each different value."""
    codes, _ = pd.factorize(known(cells, description.missing).to_pandas())
    return np.where(codes < 0, np.nan, codes)


def _times(
    cells: Any,  # noqa: ANN401
    description: Description,
    file: TableFile,
    name: str,
) -> NDArray[np.float64]:
    """Return numbers as they are, and dates as seconds."""
    kind = type_name(cells.type)
    if kind in (NUMBER, BOOLEAN):
        return as_numbers(cells, description.missing, description.decimal)
    if pa.types.is_temporal(cells.type):
        return _seconds(cells.to_pandas())
    text = known(cells, description.missing).to_pandas()
    first = next(iter(text.dropna()), "")
    try:
        if _DATE.match(str(first)):
            return _seconds(pd.to_datetime(text, format="ISO8601", utc=True))
        return as_numbers(cells, description.missing, description.decimal)
    except (ValueError, pa.ArrowException) as error:
        raise file.refused(
            f"has a time in column '{name}' that is neither a number nor a date such as "
            "2024-05-31 or 2024-05-31T17:30; write all of them alike",
            error,
        ) from error


def _seconds(dates: Any) -> NDArray[np.float64]:  # noqa: ANN401
    """Return dates as seconds, NaN where there is none."""
    since = pd.to_datetime(dates, utc=True) - pd.Timestamp(0, tz="UTC")
    return np.asarray(since / pd.Timedelta(seconds=1), np.float64)


_READ: dict[str, Callable[[Any, Description, TableFile, str], NDArray[np.float64]]] = {
    "group": _groups,
    "time": _times,
}
