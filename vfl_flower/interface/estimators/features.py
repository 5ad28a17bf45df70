"""Columns of one table: numbers or categories, and who holds them."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from vfl_flower.interface.data.table import Table

Columns: TypeAlias = "int | Sequence[Sequence[int | str]]"
"""Number of parties, or each party's columns, the active party's first."""

Cells: TypeAlias = "dict[str, pa.Array]"
"""Columns of N cells by name: float64, or text."""

_ID, _LABEL, _WEIGHT = "row", "y", "weight"


def columns_of(x: Any, array: NDArray[Any]) -> Cells:  # noqa: ANN401
    """Convert features to columns of numbers and of text.

    Booleans are numbers; text and categories are text. Each name begins with the column's number,
    so that no name of a data frame is in the way of another.

    Parameters
    ----------
    x : DataFrame or array-like
        Of pandas or polars, or whatever scikit-learn takes as an array.
    array : ndarray
        The same, (N, M).

    Raises
    ------
    TypeError
        If a cell is neither number nor text.
    ValueError
        If a column is of another type, such as time.
    """
    if not hasattr(x, "columns"):
        return {str(place): _column(pd.Series(column)) for place, column in enumerate(array.T)}
    frame = x.to_pandas() if hasattr(x, "to_pandas") else x
    return {
        f"{place} {name}": _column(frame.iloc[:, place]) for place, name in enumerate(frame.columns)
    }


def _column(cells: pd.Series) -> pa.Array:
    """Convert the cells of a column, (N,), to float64 or text."""
    kind, given = cells.dtype, cells.notna().to_numpy()
    texts = pd.api.types.is_object_dtype(kind) and any(isinstance(cell, str) for cell in cells)
    if texts or isinstance(kind, pd.CategoricalDtype | pd.StringDtype):
        held = [str(cell) if there else None for cell, there in zip(cells, given, strict=True)]
        return pa.array(held, pa.string())
    if not (pd.api.types.is_object_dtype(kind) or kind.kind in "fiub"):
        raise ValueError(f"column {cells.name!r} is of type {kind}; give numbers or text")
    numbers = np.full(len(cells), np.nan)
    numbers[given] = cells[given].to_numpy(np.float64)
    return pa.array(numbers)


def holdings(columns: Columns, names: Sequence[str] | None, number: int) -> list[list[int]]:
    """Return the places of each party's columns, the active party's first.

    Parameters
    ----------
    columns : int or sequence of sequences
        See `Columns`.
    names : sequence of str or None
        Of the columns, where they have some.
    number : int
        How many columns there are.

    Raises
    ------
    ValueError
        If there are fewer than two parties, a column is not there, or a passive party has none.
    """
    if isinstance(columns, int | np.integer):
        if columns < 2:
            raise ValueError(f"columns={columns}: there are two parties at least")
        return [each.tolist() for each in np.array_split(np.arange(number), columns)]
    if isinstance(columns, str) or any(isinstance(each, str) for each in columns):
        raise ValueError("columns is a list with a list of columns for each party")
    places = [[_place(each, names, number) for each in party] for party in columns]
    if len(places) < 2 or not all(places[1:]):
        raise ValueError(
            "columns has a list for each of two parties or more; only the first one, the active "
            "party's, may be empty"
        )
    if twice := [party for party in places if len(set(party)) < len(party)]:
        raise ValueError(f"columns has a column twice at one party: {twice[0]}")
    return places


def _place(column: int | str, names: Sequence[str] | None, number: int) -> int:
    """Return the place of a column by its name or number."""
    if isinstance(column, str):
        if names is None or column not in names:
            raise ValueError(f"columns: there is no column {column!r} in X")
        return list(names).index(column)
    if not -number <= column < number:
        raise ValueError(f"columns: there is no column {column} in X, which has {number}")
    return int(column) % number


def tables_of(
    cells: Cells,
    places: Sequence[Sequence[int]],
    labels: Any = None,  # noqa: ANN401
    task: str = "",
    weights: Any = None,  # noqa: ANN401
) -> list[Table]:
    """Cut each party's table; labels and weights are the active one's."""
    names, rows = list(cells), len(next(iter(cells.values())))
    tables = []
    for rank, party in enumerate(places):
        held = {names[place]: cells[names[place]] for place in party}
        uses = {
            name: "categorical" if pa.types.is_string(each.type) else "numeric"
            for name, each in held.items()
        }
        labelled = not rank and labels is not None
        given = {_ID: np.arange(rows), **held, **({_LABEL: labels} if labelled else {})}
        stated: dict[str, Any] = {"label": _LABEL, "task": task} if labelled else {}
        if labelled and weights is not None:
            given, stated = given | {_WEIGHT: weights}, stated | {"weight": _WEIGHT}
        tables.append(Table(given, id=_ID, columns=uses, missing=[], **stated))
    return tables
