"""Copies of tables in memory."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from vfl_flower.common.errors import DataError
from vfl_flower.data.tables.files import plain


def in_memory(source: Any, named: Sequence[str]) -> Any:  # noqa: ANN401
    """Copy columns into an Arrow table.

    Parameters
    ----------
    source : DataFrame, Arrow table or mapping
        See `Table`.
    named : sequence of str
        Levels of pandas' index that are columns; the others are left out.

    Raises
    ------
    DataError
        If they are no columns, or Arrow has no type for one of them.
    """
    try:
        cells = _arrow(source)
        index = [name for name in _index_of(cells) if plain(name) not in named]
        cells = cells.drop_columns([name for name in index if name in cells.column_names])
        _check_intervals(cells)
        return _copied(_without_views(cells).replace_schema_metadata(None))
    except (pa.ArrowException, ValueError, TypeError, KeyError) as error:
        raise DataError("the table cannot be read as Arrow columns", str(error)) from error


def categories(cells: Any) -> set[str]:  # noqa: ANN401
    """Return the names of columns that are declared categories."""
    return {plain(each.name) for each in cells.schema if pa.types.is_dictionary(each.type)}


def _arrow(source: Any) -> Any:  # noqa: ANN401
    """Return an Arrow table, perhaps of the source's own memory."""
    if isinstance(source, Mapping):
        return pa.table(dict(source))
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(source, pandas.DataFrame):
        # as text, names of columns raise no warning; a range is an index like any other
        return pa.Table.from_pandas(source.rename(columns=str), preserve_index=True)
    if hasattr(source, "__arrow_c_stream__"):
        return pa.table(source)
    raise DataError(
        f"a table is a data frame, an Arrow table, a dict of columns or a path, not "
        f"{type(source).__name__}; for arrays without ids use Arrays"
    )


def _copied(cells: Any) -> Any:  # noqa: ANN401
    """Copy a table whose columns may be memory of NumPy's."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, cells.schema) as stream:
        stream.write_table(cells)
    return pa.ipc.open_stream(sink.getvalue()).read_all()


def _without_views(cells: Any) -> Any:  # noqa: ANN401
    """Convert categories of polars to those that Parquet can hold."""
    for place, each in enumerate(cells.schema):
        if pa.types.is_dictionary(each.type) and pa.types.is_string_view(each.type.value_type):
            chunks = [
                pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.string()))
                for chunk in cells.column(place).chunks
            ]
            type_ = pa.dictionary(each.type.index_type, pa.string())
            column = pa.chunked_array(chunks, type_)
            cells = cells.set_column(place, each.name, column)
    return cells


def _check_intervals(cells: Any) -> None:  # noqa: ANN401
    """Refuse categories that are no plain values, such as of pandas' cut."""
    for each in cells.schema:
        if pa.types.is_dictionary(each.type) and pa.types.is_nested(_storage(each.type.value_type)):
            raise DataError(
                f"the categories of column {each.name} are of type {each.type.value_type}; "
                f"write them as text, with astype(str)"
            )


def _storage(type_: Any) -> Any:  # noqa: ANN401
    return getattr(type_, "storage_type", type_)


def _index_of(cells: Any) -> list[str]:  # noqa: ANN401
    """Return the columns that pandas made of an index."""
    about = json.loads((cells.schema.metadata or {}).get(b"pandas", b"{}"))
    return [each for each in about.get("index_columns", ()) if isinstance(each, str)]
