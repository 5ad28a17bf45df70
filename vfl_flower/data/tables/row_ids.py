"""Ids of a table's rows: integers or text, complete and distinct."""

from collections.abc import Sequence
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from vfl_flower.data.columns import TEXT
from vfl_flower.data.tables.cells import as_text, type_name
from vfl_flower.data.tables.description import Description
from vfl_flower.data.tables.files import TableFile, plain

Ids: TypeAlias = "pa.Int64Array | pa.LargeStringArray"

WHOLE = r"^(0|-?[1-9]\d{0,17})$"
"""Text that says the same as the number does; with a leading zero it says more."""


def as_ids(cells: pa.Array) -> pa.Array:
    """Return ids as text, or as stored numbers."""
    text = type_name(cells.type) == TEXT or pa.types.is_dictionary(cells.type)
    return pc.cast(as_text(cells), pa.large_string()) if text else cells


def ids_of(chunks: Sequence[pa.Array], file: TableFile, description: Description) -> Ids:
    """Put a table's ids together.

    Parameters
    ----------
    chunks : sequence of pyarrow.Array
        What `as_ids` made of all rows, in order.
    file : TableFile
        Where they are from.
    description : Description
        Its `id_type` may say what they are. If it does not, those of a CSV file are integers if
        all of them are written as such.

    Raises
    ------
    DataError
        If there are none, one is missing, or there twice where that is refused, or they are of
        another type.
    """
    rows = sum(map(len, chunks))
    if not rows:
        raise file.refused("holds no rows")
    declared = file.type_of(plain(description.id))
    ids = pa.chunked_array(chunks)
    if not pa.types.is_integer(ids.type) and not pa.types.is_large_string(ids.type):
        raise file.refused(f"has ids of type {declared}; store whole numbers or text")
    if ids.null_count:
        first = pc.index(ids.is_null(), True).as_py() + 1
        raise file.refused(f"has no id in {ids.null_count} of {rows} rows, first in row {first}")
    ids = _typed(ids, declared is None, file, description.id_type)
    if description.duplicates == "refuse":
        _check_distinct(ids, file)
    found: Ids = ids.combine_chunks()
    return found


def _typed(ids: pa.ChunkedArray, guess: bool, file: TableFile, stated: str) -> pa.ChunkedArray:
    """Return ids as int64 or as large strings."""
    text = pa.types.is_large_string(ids.type)
    whole = stated == "integer" or (not stated and (guess or not text))
    if not whole:
        return pc.cast(ids, pa.large_string())
    if text:
        right = pc.match_substring_regex(ids, WHOLE)
        if not pc.all(right).as_py():
            if not stated:
                return ids
            place = pc.index(right, False).as_py()
            raise file.refused(
                f"has an id in row {place + 1} that is no whole number, and id-type is integer",
                ids[place],
            )
    try:
        return pc.cast(ids, pa.int64())
    except pa.ArrowInvalid as error:
        raise file.refused('has an id of more than 63 bits; set id-type = "text"') from error


def _check_distinct(ids: pa.ChunkedArray, file: TableFile) -> None:
    if twice := len(ids) - pc.count_distinct(ids).as_py():
        counts = pc.value_counts(ids)
        first = counts.field("values")[
            pc.index(pc.greater(counts.field("counts"), 1), True).as_py()
        ]
        raise file.refused(
            f"has ids twice, in {twice} of {len(ids)} rows; keep one row each, or set duplicates = "
            '"first"',
            first,
        )
