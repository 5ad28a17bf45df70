"""Dates and times, as hours since 1970-01-01 in UTC.

Hours of any day from year 1 to 9999 are whole numbers that float32 holds exactly, as it does
quarters of an hour from 1492 to 2448; other times are taken to their day.
"""

import re
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vfl_flower.data.columns import DATE
from vfl_flower.data.tables.cells import known, type_name

DAY_FIRST, MONTH_FIRST = "day-first", "month-first"

FAR = float(1 << 22)
"""Hours from 1970 beyond which float32 holds no quarters."""

_FIRST = -719_162 * 24.0
"""The hour at which year 1 begins."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMES = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    "oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_TIME = (
    r"(?:(?:T| +)(?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2}(?:[.,]\d+)?))?(?: ?(?P<half>[AP]M))?"
    r"(?: ?(?P<zone>Z|UTC|[+-]\d{2}(?::?\d{2})?))?)?$"
)
_YEAR, _NAMED = r"(?P<y>\d{4})", rf"(?P<m>{_NAMES})"
_FORMATS = (
    rf"{_YEAR}-(?P<m>\d{{1,2}})-(?P<d>\d{{1,2}})",
    rf"{_YEAR}/(?P<m>\d{{1,2}})/(?P<d>\d{{1,2}})",
    rf"{_YEAR}\.(?P<m>\d{{1,2}})\.(?P<d>\d{{1,2}})",
    rf"{_YEAR}(?P<m>\d{{2}})(?P<d>\d{{2}})",
    rf"(?P<d>\d{{1,2}})\.(?P<m>\d{{1,2}})\.{_YEAR}",
    rf"(?P<d>\d{{1,2}})[ -]?{_NAMED}\.?,?[ -]?{_YEAR}",
    rf"{_NAMED}\.? +(?P<d>\d{{1,2}}),? +{_YEAR}",
)
_ORDERED = {
    DAY_FIRST: rf"(?P<d>\d{{1,2}})[/-](?P<m>\d{{1,2}})[/-]{_YEAR}",
    MONTH_FIRST: rf"(?P<m>\d{{1,2}})[/-](?P<d>\d{{1,2}})[/-]{_YEAR}",
}
DOUBTFUL = r"^\d{1,2}[/-]\d{1,2}[/-]\d{4}"
"""Text whose order of day and month may be either."""


def as_hours(text: pa.Array, order: str = DAY_FIRST) -> NDArray[np.float64]:
    """Return text as hours.

    Parameters
    ----------
    text : pyarrow.StringArray
        (N,), as `cells.known` gives it.
    order : str
        ``day-first`` or ``month-first``, of digits between slashes or dashes before a year.

    Returns
    -------
    ndarray of float64
        (N,): NaN for null, and for text that is no date.
    """
    return _quarters(_exact(text, order))


def moments_of(cells: pa.Array, missing: tuple[str, ...], order: str) -> NDArray[np.float64]:
    """Return cells as exact hours, NaN for none or no date."""
    if type_name(cells.type) != DATE:
        return _exact(known(cells, missing), order)
    return _stored(cells, missing)


def _exact(text: pa.Array, order: str) -> NDArray[np.float64]:
    """Return text as hours that are not rounded."""
    for kind, per_hour in ((pa.date32(), 1 / 24), (pa.timestamp("us"), 3600e6)):
        with suppress(pa.ArrowInvalid):  # ISO, as most dates are, is quick
            return _units(pc.cast(text, kind)) / per_hour
    hours, first = np.full(len(text), np.nan), next(iter(text.drop_null()), pa.scalar(""))
    formats = (*_FORMATS, _ORDERED[order])
    for pattern in sorted(formats, key=lambda each: not _fits(each, first.as_py())):
        left = np.flatnonzero(np.isnan(hours))
        if not left.size:
            break
        hours[left] = _matched(text.take(pa.array(left)), rf"(?i)^{pattern}{_TIME}")
    return hours


def _fits(pattern: str, text: str) -> bool:
    return re.match(pattern, text, re.IGNORECASE) is not None


def hours_of(cells: pa.Array, missing: tuple[str, ...], order: str) -> NDArray[np.float64]:
    """Return cells as hours, NaN for none or no date."""
    if type_name(cells.type) != DATE:
        return as_hours(known(cells, missing), order)
    hours = _stored(cells, missing)
    return hours if pa.types.is_date(cells.type) else _quarters(hours)


def _stored(cells: pa.Array, missing: tuple[str, ...]) -> NDArray[np.float64]:
    """Return stored dates or moments as hours that are not rounded."""
    if any(each[:4].isdigit() for each in missing):
        cells = pc.if_else(pc.is_valid(known(cells, missing)), cells, None)
    if pa.types.is_date(cells.type):
        return _units(pc.cast(cells, pa.date32())) * 24
    per_hour = {"s": 3600, "ms": 3600 * 10**3, "us": 3600 * 10**6, "ns": 3600 * 10**9}
    return _units(cells) / per_hour[cells.type.unit]


def _units(cells: pa.Array) -> NDArray[np.float64]:
    """Return stored days or moments as numbers, NaN for null."""
    whole = pa.int32() if pa.types.is_date32(cells.type) else pa.int64()
    made: NDArray[np.float64] = pc.cast(pc.cast(cells, whole), pa.float64(), safe=False).to_numpy(
        zero_copy_only=False
    )
    return made


def _quarters(hours: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round times down to quarters of an hour.

    Far from 1970 to days; before year 1 is NaN.
    """
    hours = np.where(hours < _FIRST, np.nan, hours)
    return np.where(np.abs(hours) < FAR, np.floor(hours * 4) / 4, np.floor(hours / 24) * 24)


def _matched(text: pa.Array, pattern: str) -> NDArray[np.float64]:
    """Return the hours of text that matches, NaN elsewhere."""
    fields = pc.extract_regex(text, pattern)
    hours = np.full(len(text), np.nan)
    here = np.flatnonzero(fields.is_valid().to_numpy(zero_copy_only=False))
    if not here.size:
        return hours
    part = {each.name: fields.field(each.name).take(pa.array(here)) for each in fields.type}
    year, day = _whole(part["y"]), _whole(part["d"])
    month = _month(part["m"])
    right = (year > 0) & (month > 0) & (month < 13) & (day > 0)
    first = ((np.where(right, year, 1) - 1970) * 12 + np.where(right, month, 1) - 1).astype(
        "datetime64[M]"
    )
    days = first.astype("datetime64[D]") + (day - 1)
    right &= days.astype("datetime64[M]") == first
    clock, told = _clock(part)
    hours[here] = np.where(right & told, days.astype(np.int64) * 24 + clock, np.nan)
    return hours


def _whole(digits: pa.Array) -> NDArray[np.int64]:
    """Return digits as numbers, 0 for none."""
    filled = pc.if_else(pc.equal(digits, ""), "0", digits)
    made: NDArray[np.int64] = pc.cast(filled, pa.int64()).to_numpy(zero_copy_only=False)
    return made


def _seconds(digits: pa.Array) -> NDArray[np.float64]:
    """Return digits, with a fraction or not, as numbers, 0 for none."""
    filled = pc.if_else(pc.equal(digits, ""), "0", pc.replace_substring(digits, ",", "."))
    made: NDArray[np.float64] = pc.cast(filled, pa.float64()).to_numpy(zero_copy_only=False)
    return made


def _month(text: pa.Array) -> NDArray[np.int64]:
    """Return months as numbers, of digits or of names."""
    if pc.all(pc.utf8_is_decimal(text)).as_py():
        return _whole(text)
    names = pc.utf8_lower(pc.utf8_slice_codeunits(text, 0, 3))
    made: NDArray[np.int64] = pc.index_in(names, pa.array(_MONTHS)).to_numpy(zero_copy_only=False)
    return made.astype(np.int64) + 1


def _clock(part: dict[str, pa.Array]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return hours since midnight in UTC, and valid times."""
    hour, minute = (_whole(part[name]) for name in "HM")
    second = _seconds(part["S"])
    half = pc.utf8_upper(part["half"]).to_numpy(zero_copy_only=False)
    told = (hour < 24) & (minute < 60) & (second < 61)
    told &= (half == "") | ((hour > 0) & (hour < 13))
    hour = np.where(half == "", hour, hour % 12 + 12 * (half == "PM"))
    zone = pc.replace_substring_regex(part["zone"], "(?i)^(z|utc)?$", "+0000")
    zone = pc.replace_substring_regex(pc.replace_substring(zone, ":", ""), r"^(...)$", r"\100")
    ahead = _whole(pc.utf8_slice_codeunits(zone, 1, 3)) * 60
    ahead += _whole(pc.utf8_slice_codeunits(zone, 3, 5))
    ahead *= np.where(pc.starts_with(zone, "-").to_numpy(zero_copy_only=False), -1, 1)
    return hour + (minute - ahead) / 60 + second / 3600, told
