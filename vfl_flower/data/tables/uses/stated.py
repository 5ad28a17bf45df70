"""Checks of a column for the use that its party states."""

from collections.abc import Callable

from vfl_flower.common.errors import DataError
from vfl_flower.data.columns import DATE
from vfl_flower.data.tables.column_profile import Profile
from vfl_flower.data.tables.reading.candidate import Candidate
from vfl_flower.data.tables.reading.dates import DAY_FIRST, MONTH_FIRST


def detail_of(profile: Profile) -> str:
    """Return the detail of a stated use, found or said.

    Raises
    ------
    DataError
        If the column cannot be used so.
    """
    use, _, said = profile.stated.partition(":")
    if use == "ignored":
        return ""
    where = f"{profile.party}: column {profile.name}"
    dates = profile.type == DATE and use == "date"
    if not profile.usable and not dates:
        raise DataError(f"{where} is of type {profile.type}, and cannot be {use}; ignore it")
    if not (profile.filled if dates else profile.values):
        raise DataError(f"{where} has no value in any row; ignore it")
    return _CHECKS[use](profile) or said


def check_numbers(profile: Profile) -> None:
    """Refuse a column that is not numeric.

    Raises
    ------
    DataError
        Names the first row that is no number, or that is infinite or beyond float32.
    """
    where, texts = f"{profile.party}: column {profile.name}", profile.texts
    if profile.text and not texts.numbers.fits:
        row, text = texts.numbers.first or profile.text
        raise DataError(f"{where} is no number in row {row}; mend it, or say categorical", text)
    if profile.text and texts.mixed:
        raise DataError(f"{where} has {texts.mixed}; write them alike, or ignore it")
    if profile.unbounded:
        raise DataError(
            f"{where} holds infinity, or what is beyond float32, in row {profile.unbounded}; "
            "clean or ignore it"
        )


def _numeric(profile: Profile) -> str:
    check_numbers(profile)
    return profile.texts.unit if profile.text else ""


def _date(profile: Profile) -> str:
    """Return the order of day and month, if the dates tell it."""
    if profile.type == DATE:
        return ""
    texts, said = profile.texts, profile.stated.partition(":")[2]
    if said or not texts.orders:
        _check_read(profile, texts.dates[said or DAY_FIRST], "date")
        return said
    if len(texts.orders) == 2 and texts.either:
        raise DataError(
            f"{profile.party}: column {profile.name} has dates that do not tell whether the day or "
            f"the month comes first; say date:{DAY_FIRST} or date:{MONTH_FIRST}"
        )
    return texts.orders[0] if len(texts.orders) == 1 else ""


def _boolean(profile: Profile) -> str:
    _check_read(profile, profile.texts.booleans, "boolean, such as true or no,")
    return ""


def _check_read(profile: Profile, tried: Candidate, noun: str) -> None:
    if not tried.fits:
        row, text = tried.first or (1, "")
        raise DataError(
            f"{profile.party}: column {profile.name} is no {noun} in row {row}; mend it, or add "
            "it to missing",
            text,
        )


def _few(profile: Profile) -> str:
    if profile.many:
        raise DataError(
            f"{profile.party}: column {profile.name} has {profile.distinct} categories; say "
            "hashed, or ignore it"
        )
    return ""


_CHECKS: dict[str, Callable[[Profile], str]] = {
    "numeric": _numeric,
    "categorical": _few,
    "grouped": _few,
    "hashed": lambda profile: "",
    "date": _date,
    "boolean": _boolean,
}
