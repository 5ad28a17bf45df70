"""Ids of a table's rows: integers or text, complete and distinct."""

import re
from collections.abc import Sequence
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from vfl_flower.common.errors import DataError
from vfl_flower.data.columns import TEXT
from vfl_flower.data.tables.cells import as_text, type_name
from vfl_flower.data.tables.description import Description
from vfl_flower.data.tables.files import TableFile, plain

Ids: TypeAlias = "pa.Int64Array | pa.LargeStringArray"

WHOLE = r"^(0|-?[1-9]\d*)$"
"""Text that says the same as the number does; with a leading zero it says more."""

_EXPONENT = r"^-?\d([.,]\d+)?[eE]\+\d{2,3}$"
"""A number as spreadsheets and pandas shorten it, without its last digits."""

_MANTISSA = {pa.float16(): 11, pa.float32(): 24, pa.float64(): 53}
"""Bits of whole numbers that are stored exactly."""


def as_ids(cells: pa.Array) -> pa.Array:
    """Return ids as text, or as stored numbers."""
    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    if type_name(cells.type) == TEXT:
        return pc.cast(as_text(cells), pa.large_string())
    if pa.types.is_floating(cells.type):
        return pc.if_else(pc.is_nan(cells), None, cells)
    return cells


def ids_of(
    chunks: Sequence[pa.Array], file: TableFile, description: Description
) -> tuple[Ids, tuple[str, ...]]:
    """Put a table's ids together.

    Parameters
    ----------
    chunks : sequence of pyarrow.Array
        What `as_ids` made of all rows, in order.
    file : TableFile
        Where they are from.
    description : Description
        Its `id_type` may say what they are. If it does not, those of a CSV file are integers if
        all of them are written as such, ``7.0`` included.

    Returns
    -------
    ids : pyarrow.Int64Array or pyarrow.LargeStringArray
    notes : tuple of str
        Lines that say how they were read, where that is not plain.

    Raises
    ------
    DataError
        If there are none, one is missing, or there twice where that is refused, or they are of
        another type, or have lost digits.
    """
    rows = sum(map(len, chunks))
    if not rows:
        raise file.refused("holds no rows")
    ids = pa.chunked_array(chunks)
    if ids.null_count:
        first = pc.index(ids.is_null(), True).as_py() + 1
        raise file.refused(f"has no id in {ids.null_count} of {rows} rows, first in row {first}")
    ids, notes = _typed(ids, file, description)
    if description.duplicates == "refuse":
        _check_distinct(ids, file)
    found: Ids = ids.combine_chunks()
    return found, notes


def _typed(
    ids: pa.ChunkedArray, file: TableFile, description: Description
) -> tuple[pa.ChunkedArray, tuple[str, ...]]:
    """Return ids as int64 or as large strings, and notes."""
    stated = description.id_type
    if pa.types.is_large_string(ids.type):
        guess = not stated and file.type_of(plain(description.id)) is None
        if stated == "text" or not (stated or guess):
            return ids, ()
        told = _written_whole(ids, file, description)
        if told is None:
            return ids, ()
        ids, notes = told
    else:
        ids, notes = _stored_whole(ids, file)
        if stated == "text":
            return pc.cast(ids, pa.large_string()), tuple(notes)
    try:
        return pc.cast(ids, pa.int64()), tuple(notes)
    except pa.ArrowInvalid as error:
        if stated:
            raise file.refused('has an id of more than 63 bits; set id-type = "text"') from error
    return pc.cast(ids, pa.large_string()), (*notes, "ids: text, for one has more than 63 bits")


def _stored_whole(ids: pa.ChunkedArray, file: TableFile) -> tuple[pa.ChunkedArray, list[str]]:
    """Return stored numbers as whole ones of some width."""
    kind = ids.type
    if pa.types.is_integer(kind):
        return ids, []
    if pa.types.is_decimal(kind):
        _check_whole(pc.equal(pc.trunc(ids), ids), file)
        return pc.cast(ids, pa.decimal256(76 - max(kind.scale, 0), 0)), []
    if kind not in _MANTISSA:
        raise file.refused(f"has ids of type {kind}; store whole numbers or text")
    numbers = pc.cast(ids, pa.float64())
    _check_whole(pc.equal(pc.trunc(numbers), numbers), file)
    _check_digits(numbers, 2.0 ** _MANTISSA[kind], file)
    return pc.cast(numbers, pa.int64()), [
        f"ids: stored as floating-point numbers ({kind}), read as the whole numbers that they are"
    ]


def _check_whole(right: pa.ChunkedArray, file: TableFile) -> None:
    """Refuse numbers with a fraction."""
    if not pc.all(right).as_py():
        row = pc.index(right, False).as_py() + 1
        raise file.refused(
            f"has an id in row {row} that is a number with a fraction; store whole numbers or text"
        )


def _check_digits(numbers: pa.ChunkedArray, limit: float, file: TableFile) -> None:
    """Refuse floating-point numbers that may stand for several whole ones."""
    right = pc.less(pc.abs(numbers), limit)
    if not pc.all(right).as_py():
        raise _lost(pc.index(right, False).as_py(), file)


def _lost(place: int, file: TableFile) -> DataError:
    return file.refused(
        f"has an id in row {place + 1} that is stored as a floating-point number and too large for "
        "one: its last digits are lost; export the column again as text or as integers"
    )


def _written_whole(
    ids: pa.ChunkedArray, file: TableFile, description: Description
) -> tuple[pa.ChunkedArray, list[str]] | None:
    """Return digits without ``.0``; None for text that is to stay text."""
    if pc.all(pc.match_substring_regex(ids, WHOLE)).as_py():
        return ids, []
    zeros = rf"{re.escape(description.decimal)}0+$"
    cut = pc.replace_substring_regex(ids, zeros, "")
    shortened = pc.match_substring_regex(ids, _EXPONENT)
    right = pc.or_(pc.match_substring_regex(cut, WHOLE), shortened)
    if not pc.all(right).as_py():
        if not description.id_type:
            return None
        place = pc.index(right, False).as_py()
        raise file.refused(
            f"has an id in row {place + 1} that is no whole number, and id-type is integer",
            ids[place],
        )
    if pc.any(shortened).as_py():
        raise _lost(pc.index(shortened, True).as_py(), file)
    _check_digits(pc.cast(cut, pa.float64()), 2.0**53, file)
    return cut, [
        f"ids: written with {description.decimal}0, as floating-point numbers are, and read as "
        "whole numbers"
    ]


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
