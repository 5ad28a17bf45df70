"""Numbers with currency signs, percent signs and thousands separators."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vfl_flower.data.columns import LARGEST
from vfl_flower.data.tables.cells import LEADING_ZERO, WRITTEN_NUMBER, pointed

PERCENT = "%"

_CODES = (
    "AED|ARS|AUD|BGN|BRL|CAD|CHF|CLP|CNY|COP|CZK|DKK|EGP|EUR|GBP|HKD|HUF|IDR|ILS|INR|JPY|KES|KRW|"
    "MXN|MYR|NGN|NOK|NZD|PEN|PHP|PLN|RON|RUB|SAR|SEK|SGD|THB|TRY|TWD|UAH|USD|VND|ZAR"
)
_UNIT = rf"(?:\p{{Sc}}|%|(?:{_CODES})|kr|Kč|zł|Ft|Fr)"
_SPACE = r"[ \t\x{a0}\x{2009}\x{202f}]"
_SIGN = r"[+\-\x{2212}]"
_NOT_UNIT = rf"[0-9.,'\x{{2019}}()+\-\x{{2212}}]|{_SPACE}"
_ODD = rf"(?:{_SIGN}|\().*(?:{_SIGN}|\()|^\([^)]*$|^[^(]*\)$"
"""Two signs, or one bracket."""

_NEGATIVE = r"[(\-\x{2212}]"
_ONE_GROUP = r"^[^0-9]*[1-9]\d{0,2},\d{3}[^0-9]*$"
"""A comma that may be a decimal mark as well."""


def _shape(decimal: str) -> str:
    """Return the pattern of a number with marks."""
    group, point = (re.escape(each) for each in ((",", ".") if decimal == "." else (".", ",")))
    grouped = "|".join(rf"(?:{each}\d{{3}})+" for each in (group, _SPACE, r"['\x{2019}]"))
    whole = rf"(?:[1-9]\d{{0,2}}(?:{grouped})|0|[1-9]\d*)"
    number = rf"(?:{whole}(?:{point}\d*)?|{point}\d+)"
    unit = rf"{_SPACE}*{_UNIT}?{_SPACE}*"
    return rf"^\(?{_SIGN}?{unit}{_SIGN}?{number}{unit}{_SIGN}?\)?$"


def marked_numbers(text: pa.Array, decimal: str) -> NDArray[np.float64]:
    """Return text as numbers, with or without marks.

    Parameters
    ----------
    text : pyarrow.StringArray
        (N,), as `cells.known` gives it.
    decimal : str
        The decimal mark.

    Returns
    -------
    ndarray of float64
        (N,): NaN for null, and for text that is no finite number within float32.
    """
    plain = pc.and_not(
        pc.match_substring_regex(pointed(text, decimal), WRITTEN_NUMBER),
        pc.match_substring_regex(text, LEADING_ZERO),
    )
    numbers = pc.cast(pc.if_else(plain, pointed(text, decimal), None), pa.float64())
    marked = pc.and_not(_marked(text, decimal), plain)
    if pc.any(marked, min_count=0).as_py():
        numbers = pc.coalesce(numbers, _values(pc.if_else(marked, text, None), decimal))
    found: NDArray[np.float64] = numbers.to_numpy(zero_copy_only=False)
    return np.where(np.abs(found) <= LARGEST, found, np.nan)


def _marked(text: pa.Array, decimal: str) -> pa.Array:
    return pc.and_not(
        pc.match_substring_regex(text, _shape(decimal)), pc.match_substring_regex(text, _ODD)
    )


def _values(text: pa.Array, decimal: str) -> pa.Array:
    """Return the values of numbers with marks, float64."""
    digits = pc.replace_substring_regex(text, rf"[^0-9{re.escape(decimal)}]", "")
    sizes = pc.cast(pc.replace_substring(digits, decimal, "."), pa.float64())
    return pc.if_else(pc.match_substring_regex(text, _NEGATIVE), pc.negate(sizes), sizes)


def units_of(text: pa.Array, decimal: str) -> set[str]:
    """Return units of numbers, such as €; empty for none."""
    plain = pc.match_substring_regex(pointed(text, decimal), WRITTEN_NUMBER)
    units = pc.if_else(plain, "", pc.replace_substring_regex(text, _NOT_UNIT, ""))
    return set(pc.unique(units).drop_null().to_pylist())


def groups_of(text: pa.Array, decimal: str) -> tuple[bool, bool, bool]:
    """Tell whether numbers have separators of thousands.

    Returns
    -------
    grouped : bool
        Whether one has.
    doubtful : bool
        Whether one may have a decimal comma in their place, the mark being a point.
    clear : bool
        Whether one tells that commas separate thousands: it has two, or a point.
    """
    group = "," if decimal == "." else "."
    grouped = pc.match_substring_regex(text, rf"\d(?:[{group}'\x{{2019}}]|{_SPACE})\d{{3}}")
    found = [pc.any(grouped, min_count=0).as_py(), False, True]
    if decimal == ".":
        for place, pattern in ((1, _ONE_GROUP), (2, r",\d{3},|\.\d")):
            match = pc.match_substring_regex(text, pattern)
            found[place] = pc.any(match, min_count=0).as_py()
    return found[0], found[1], found[2]
