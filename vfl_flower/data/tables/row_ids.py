"""Ids of a table's rows: integers or text, complete and distinct."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from vfl_flower.common.errors import DataError
from vfl_flower.common.text.case import folded
from vfl_flower.data.columns import TEXT
from vfl_flower.data.tables.cells import as_text, type_name
from vfl_flower.data.tables.description import Description
from vfl_flower.data.tables.files import TableFile, plain

Ids: TypeAlias = "pa.Int64Array | pa.LargeStringArray | pa.StructArray"

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


@dataclass(frozen=True)
class _IdColumn:
    """A column of ids.

    Attributes
    ----------
    file : TableFile
        Where it is.
    name : str
        How it is called there.
    stated : str
        ``integer`` or ``text``, if somebody says so.
    decimal : str
        The decimal mark of numbers that are written as text.
    of : str
        Its name for an error, if there are other columns of ids.
    """

    file: TableFile
    name: str
    stated: str
    decimal: str
    of: str


def id_columns(description: Description) -> dict[str, str]:
    """Return the types of the columns of ids, or nothing, by name."""
    names = [description.id] if isinstance(description.id, str) else description.id
    said = description.id_type
    types = [said] * len(names) if isinstance(said, str) else said
    return {plain(name): type_ for name, type_ in zip(names, types, strict=True)}


def ids_of(
    chunks: Mapping[str, Sequence[pa.Array]], file: TableFile, description: Description
) -> tuple[Ids, tuple[str, ...]]:
    """Put a table's ids together.

    Parameters
    ----------
    chunks : mapping of str to sequence of pyarrow.Array
        What `as_ids` made of all rows, in order, for each of `id_columns`.
    file : TableFile
        Where they are from.
    description : Description
        Its `id_type` may say what they are. If it does not, those of a CSV file are integers if
        all of them are written as such, ``7.0`` included.

    Returns
    -------
    ids : pyarrow.Int64Array, pyarrow.LargeStringArray or pyarrow.StructArray
        As they are written, whether their case counts or not.
    notes : tuple of str
        Lines that say how they were read, where that is not plain.

    Raises
    ------
    DataError
        If there are none, one is missing, or there twice where that is refused, or they are of
        another type, or have lost digits.
    """
    typed: dict[str, pa.ChunkedArray] = {}
    notes: list[str] = []
    for name, stated in id_columns(description).items():
        of = f" of column {name}" if len(chunks) > 1 else ""
        column = _IdColumn(file, name, stated, description.decimal, of)
        typed[name], said = _typed(_whole_column(chunks[name], column), column)
        notes += [f"ids{of}: {each}" for each in said]
    if description.duplicates == "refuse":
        _check_distinct(typed, file, description.id_case)
    columns = [each.combine_chunks() for each in typed.values()]
    several = len(columns) > 1
    found: Ids = pa.StructArray.from_arrays(columns, list(typed)) if several else columns[0]
    return found, tuple(notes)


def _whole_column(chunks: Sequence[pa.Array], column: _IdColumn) -> pa.ChunkedArray:
    """Put one column of ids together, without gaps."""
    rows = sum(map(len, chunks))
    if not rows:
        raise column.file.refused("holds no rows")
    ids = pa.chunked_array(chunks)
    if ids.null_count:
        first = pc.index(ids.is_null(), True).as_py() + 1
        raise column.file.refused(
            f"has no id in {ids.null_count} of {rows} rows, first in row {first}{column.of}"
        )
    return ids


def _typed(ids: pa.ChunkedArray, column: _IdColumn) -> tuple[pa.ChunkedArray, list[str]]:
    """Return ids as int64 or as large strings, and notes."""
    stated = column.stated
    if pa.types.is_large_string(ids.type):
        guess = not stated and column.file.type_of(column.name) is None
        told = _written_whole(ids, column) if guess or stated == "integer" else None
        if told is None:
            return ids, []
        ids, notes = told
    else:
        ids, notes = _stored_whole(ids, column)
        if stated == "text":
            return pc.cast(ids, pa.large_string()), notes
    try:
        return pc.cast(ids, pa.int64()), notes
    except pa.ArrowInvalid as error:
        if stated:
            why = f'has an id of more than 63 bits{column.of}; set id-type = "text"'
            raise column.file.refused(why) from error
    return pc.cast(ids, pa.large_string()), [*notes, "text, for one has more than 63 bits"]


def _stored_whole(ids: pa.ChunkedArray, column: _IdColumn) -> tuple[pa.ChunkedArray, list[str]]:
    """Return stored numbers as whole ones of some width."""
    kind = ids.type
    if pa.types.is_integer(kind):
        return ids, []
    if pa.types.is_decimal(kind):
        _check_whole(pc.equal(pc.trunc(ids), ids), column)
        return pc.cast(ids, pa.decimal256(76 - max(kind.scale, 0), 0)), []
    if kind not in _MANTISSA:
        raise column.file.refused(f"has ids of type {kind}{column.of}; store whole numbers or text")
    numbers = pc.cast(ids, pa.float64())
    _check_whole(pc.equal(pc.trunc(numbers), numbers), column)
    _check_digits(numbers, 2.0 ** _MANTISSA[kind], column)
    return pc.cast(numbers, pa.int64()), [
        f"stored as floating-point numbers ({kind}), read as the whole numbers that they are"
    ]


def _check_whole(right: pa.ChunkedArray, column: _IdColumn) -> None:
    """Refuse numbers with a fraction."""
    if not pc.all(right).as_py():
        row = pc.index(right, False).as_py() + 1
        raise column.file.refused(
            f"has an id in row {row}{column.of} that is a number with a fraction; store whole "
            "numbers or text"
        )


def _check_digits(numbers: pa.ChunkedArray, limit: float, column: _IdColumn) -> None:
    """Refuse floating-point numbers that may stand for several whole ones."""
    right = pc.less(pc.abs(numbers), limit)
    if not pc.all(right).as_py():
        raise _lost(pc.index(right, False).as_py(), column)


def _lost(place: int, column: _IdColumn) -> DataError:
    return column.file.refused(
        f"has an id in row {place + 1}{column.of} that is stored as a floating-point number and "
        "too large for one: its last digits are lost; export the column again as text or as "
        "integers"
    )


def _written_whole(
    ids: pa.ChunkedArray, column: _IdColumn
) -> tuple[pa.ChunkedArray, list[str]] | None:
    """Return digits without ``.0``; None for text that is to stay text."""
    if pc.all(pc.match_substring_regex(ids, WHOLE)).as_py():
        return ids, []
    zeros = rf"{re.escape(column.decimal)}0+$"
    cut = pc.replace_substring_regex(ids, zeros, "")
    shortened = pc.match_substring_regex(ids, _EXPONENT)
    right = pc.or_(pc.match_substring_regex(cut, WHOLE), shortened)
    if not pc.all(right).as_py():
        if not column.stated:
            return None
        place = pc.index(right, False).as_py()
        raise column.file.refused(
            f"has an id in row {place + 1}{column.of} that is no whole number, and id-type is "
            "integer",
            ids[place],
        )
    if pc.any(shortened).as_py():
        raise _lost(pc.index(shortened, True).as_py(), column)
    _check_digits(pc.cast(cut, pa.float64()), 2.0**53, column)
    return cut, [
        f"written with {column.decimal}0, as floating-point numbers are, and read as whole numbers"
    ]


def _check_distinct(columns: Mapping[str, pa.ChunkedArray], file: TableFile, case: str) -> None:
    """Refuse rows with the id of an earlier one."""
    keys = [_folded(each) if case == "fold" else each for each in columns.values()]
    rows, names = len(keys[0]), [str(place) for place in range(len(keys))]
    if len(keys) == 1 and pc.count_distinct(keys[0]).as_py() == rows:
        return
    counts = pa.table(keys, names).group_by(names, use_threads=False).aggregate([([], "count_all")])
    if not (twice := rows - len(counts)):
        return
    first = counts.filter(pc.greater(counts.column("count_all"), 1)).slice(0, 1)
    same = reduce(pc.and_, map(pc.equal, keys, (first.column(name)[0] for name in names)))
    written = zip(*(each.filter(same).to_pylist() for each in columns.values()), strict=True)
    spelled = dict.fromkeys(" ".join(map(str, each)) for each in written)
    alike = " that differ in case at most" if len(spelled) > 1 else ""
    raise file.refused(
        f"has ids twice{alike}, in {twice} of {rows} rows; keep one row each, or set duplicates = "
        '"first"',
        ", ".join(spelled),
    )


def _folded(ids: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts as all that differ in case only are written."""
    if not pa.types.is_large_string(ids.type):
        return ids
    if pc.all(pc.string_is_ascii(ids)).as_py():
        return pc.utf8_lower(ids)
    chunks = [pa.array(map(folded, each.to_pylist()), ids.type) for each in ids.chunks]
    return pa.chunked_array(chunks, ids.type)


def type_of_ids(type_: pa.DataType) -> str:
    """Return the type of ids in words."""
    if not type_.num_fields:
        return f"ids of type {type_}"
    return "ids of " + " and ".join(f"{each.name} ({each.type})" for each in type_)
