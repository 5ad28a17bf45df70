"""Columns of a table that splits go by."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vfl_flower.data.columns import DATE
from vfl_flower.data.tables.cells import as_numbers, known, type_name
from vfl_flower.data.tables.description import Description
from vfl_flower.data.tables.files import TableFile, plain
from vfl_flower.data.tables.formats.opened import opened
from vfl_flower.data.tables.reading.dates import DAY_FIRST, MONTH_FIRST, moments_of


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
        If the table has no such column, a row has no value, or a time is neither a number nor a
        date.
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
    # pandas is slow to import
    import pandas as pd

    codes, _ = pd.factorize(known(cells, description.missing).to_pandas())
    return np.where(codes < 0, np.nan, codes)


def _times(
    cells: Any,  # noqa: ANN401
    description: Description,
    file: TableFile,
    name: str,
) -> NDArray[np.float64]:
    """Return numbers as they are, and dates as hours."""
    kind, missing = type_name(cells.type), description.missing
    if kind == DATE:
        return moments_of(cells, missing, DAY_FIRST)
    with suppress(pa.ArrowException):  # text that is a date is no number
        return as_numbers(cells, missing, description.decimal)
    said = {plain(key): use for key, use in description.columns.items()}.get(name, "")
    use, _, order = said.partition(":")
    orders = [order] if use == "date" and order else [DAY_FIRST, MONTH_FIRST]
    return _dates(known(cells, missing), orders, file, name)


def _dates(text: pa.Array, orders: list[str], file: TableFile, name: str) -> NDArray[np.float64]:
    """Return text as hours, by the order that fits all."""
    gaps = text.is_null().to_numpy(zero_copy_only=False)
    read = [moments_of(text, (), order) for order in orders]
    whole = [hours for hours in read if np.array_equal(np.isnan(hours), gaps)]
    if not whole:
        raise file.refused(
            f"has a time in column '{name}' that is neither a number nor a date such as "
            "2024-05-31 or 31.05.2024 17:30; mend it, or add it to missing"
        )
    if not np.array_equal(whole[0], whole[-1], equal_nan=True):
        raise file.refused(
            f"has dates in column '{name}' that do not tell whether the day or the month comes "
            f"first; write the year first, or say date:{DAY_FIRST} or date:{MONTH_FIRST} of it"
        )
    return whole[0]


_READ: dict[str, Callable[[Any, Description, TableFile, str], NDArray[np.float64]]] = {
    "group": _groups,
    "time": _times,
}
