"""Cells of a column as text, numbers, or codes of categories."""

import math
import re
from contextlib import suppress
from unicodedata import normalize

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vfl_flower.data.columns import BOOLEAN, DATE, NUMBER, TEXT

LEADING_ZERO = r"^\s*[+-]?0\d"
"""Digits that are a name and no number: post codes, telephone numbers."""

WRITTEN_NUMBER = r"(?i)^([+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?(nan|inf|infinity))$"


def type_name(declared: pa.DataType) -> str:
    """Return the type of a typed column, if known by name."""
    if pa.types.is_boolean(declared):
        return BOOLEAN
    for of_numbers in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal):
        if of_numbers(declared):
            return NUMBER
    if pa.types.is_string(declared) or pa.types.is_large_string(declared):
        return TEXT
    if pa.types.is_string_view(declared) or pa.types.is_null(declared):  # the latter: gaps only
        return TEXT
    if pa.types.is_date(declared) or pa.types.is_timestamp(declared):
        return DATE
    return str(declared)


def as_text(cells: pa.Array) -> pa.Array:
    """Return cells as stripped NFC text; null where empty.

    Whole numbers are written without a decimal mark, whatever they are stored as.
    """
    if pa.types.is_floating(cells.type):
        cells = pc.if_else(pc.is_nan(cells), None, cells)
    text = pc.utf8_trim_whitespace(pc.cast(cells, pa.string()))
    if not pc.all(pc.string_is_ascii(text), min_count=0).as_py():
        text = pa.array([each and normalize("NFC", each) for each in text.to_pylist()], pa.string())
    return pc.if_else(pc.equal(text, ""), None, text)


def known(cells: pa.Array, missing: tuple[str, ...]) -> pa.Array:
    """Return cells as text, null where something stands for no value."""
    text = as_text(cells)
    return pc.if_else(pc.is_in(text, pa.array(missing, pa.string())), None, text)


def as_numbers(cells: pa.Array, missing: tuple[str, ...], decimal: str) -> NDArray[np.float64]:
    """Return cells as numbers, NaN where there is none.

    Raises
    ------
    pyarrow.ArrowInvalid
        If a cell is text that is no number.
    """
    if type_name(cells.type) in (NUMBER, BOOLEAN):
        numbers = pc.cast(cells, pa.float64(), safe=False)
    else:
        numbers = _parsed(cells, missing, decimal)
    found: NDArray[np.float64] = numbers.to_numpy(zero_copy_only=False)
    if gaps := _numbers_of(missing, decimal):
        return np.where(np.isin(found, gaps), np.nan, found)
    return found


def _numbers_of(words: tuple[str, ...], decimal: str) -> list[float]:
    """Return those words that are numbers, such as -1 or 999."""
    written = [word.replace(decimal, ".") for word in words]
    numbers = [float(each) for each in written if re.fullmatch(WRITTEN_NUMBER, each)]
    return [each for each in numbers if not math.isnan(each)]


def _parsed(cells: pa.Array, missing: tuple[str, ...], decimal: str) -> pa.Array:
    if decimal == ".":
        with suppress(pa.ArrowInvalid):  # without gaps and space, as most columns are, it is quick
            return pc.cast(cells, pa.float64())
    return pc.cast(pointed(known(cells, missing), decimal), pa.float64())


def pointed(text: pa.Array, decimal: str) -> pa.Array:
    """Write numbers with a decimal point.

    Where the decimal mark is a comma, text with a point is no number.
    """
    if decimal == ".":
        return text
    return pc.replace_substring(pc.replace_substring(text, ".", "?"), ",", ".")


def first_text(cells: pa.Array, missing: tuple[str, ...], decimal: str) -> tuple[int, str]:
    """Return place and text of the first cell that is no number."""
    text = known(cells, missing)
    right = pc.match_substring_regex(pointed(text, decimal), WRITTEN_NUMBER)
    place = pc.index(right, False).as_py()
    return place, text[place].as_py()


def as_codes(cells: pa.Array, missing: tuple[str, ...], values: pa.Array) -> NDArray[np.float64]:
    """Encode cells as places in `values`.

    NaN stands for no value, ``len(values)`` for any other one.
    """
    text = known(cells, missing)
    codes = pc.fill_null(pc.index_in(text, values), len(values))
    found: NDArray[np.float64] = pc.cast(
        pc.if_else(pc.is_valid(text), codes, None), pa.float64()
    ).to_numpy(zero_copy_only=False)
    return found
