"""Use of a column of which nothing is said."""

import re

from vfl_flower.common.errors import DataError
from vfl_flower.data.columns import DATE, NUMBER
from vfl_flower.data.tables.column_profile import Profile
from vfl_flower.data.tables.reading.dates import DAY_FIRST, MONTH_FIRST

_MOST_INFERRED = 100
"""Categories of text of which nothing is said, each with a column of its own."""

_DECIMAL_COMMA = r"[+-]?\d+(,\d+)?"
_ORDERS = {DAY_FIRST: "the day before the month", MONTH_FIRST: "the month before the day"}


def inferred(profile: Profile) -> tuple[str, str, str]:
    """Infer the use of a column, with reason and detail.

    Raises
    ------
    DataError
        If text looks like numbers with decimal commas.
    """
    if profile.type == DATE:
        return ("date", "dates", "") if profile.filled else ("ignored", "no value in any row", "")
    if not profile.usable:
        return "ignored", f"of type {profile.type}", ""
    if not profile.values:
        return "ignored", "no value in any row", ""
    if profile.type == NUMBER:
        return "numeric", "numbers", ""
    _check_commas(profile)
    values = len(profile.values)
    if not profile.many and values <= min(_MOST_INFERRED, max(2, profile.rows / 2)):
        return "categorical", f"{profile.distinct} values", ""
    return _of_text(profile)


def _of_text(profile: Profile) -> tuple[str, str, str]:
    """Infer the use of text with many values."""
    texts, counted = profile.texts, f"{profile.distinct} values in {profile.rows:,} rows"
    if texts.numbers.fits and texts.marked and not texts.doubt:
        return "numeric", f"numbers {texts.marks}", texts.unit
    if len(texts.orders) == 1:
        return "date", f"dates, {_ORDERS[texts.orders[0]]}", texts.orders[0]
    if texts.orders and not texts.either:
        return "date", "dates", ""
    if profile.scattered or (texts.meant and not profile.coded):
        return "ignored", counted, ""
    return "hashed" if profile.many else "grouped", counted, ""


def _check_commas(profile: Profile) -> None:
    """Refuse text that would be numbers with the other decimal mark."""
    if profile.text is None or profile.description.decimal == ",":
        return
    if all(re.fullmatch(_DECIMAL_COMMA, each) for each in [profile.text[1], *profile.values]):
        raise DataError(
            f"{profile.party}: column {profile.name} looks like numbers with decimal commas; "
            'set decimal = ",", or say what the column is'
        )
