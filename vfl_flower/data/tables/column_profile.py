"""Profile of a column, gathered batch by batch, and its use."""

import re
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vfl_flower.common.errors import DataError
from vfl_flower.data.columns import BOOLEAN, LARGEST, NUMBER, TEXT
from vfl_flower.data.tables.cells import LEADING_ZERO, as_numbers, first_text, known, type_name
from vfl_flower.data.tables.description import Description

MOST_CATEGORIES = 1000
"""Of a column that is said to be categorical, and of labels."""

_MOST_INFERRED = 100
"""Of a column of text of which nothing is said."""

_DECIMAL_COMMA = r"[+-]?\d+(,\d+)?"


@dataclass
class Profile:
    """One column, as far as it was seen.

    Attributes
    ----------
    name, party : str
    declared : pyarrow.DataType or None
        What the file says that it holds.
    description : Description
        Of the table: what stands for no value, and the decimal mark.
    rows : int
        How many were seen.
    values : set of str
        The distinct values, as text.
    many : bool
        Whether there are more than `MOST_CATEGORIES`, of which `values` has that many.
    text : tuple of int and str, or None
        The first row, from 1, that is no number, and what it says.
    unbounded : int
        The first row, from 1, whose number is infinite or beyond float32; 0: none.
    coded : bool
        Whether text begins with a zero that no number begins with.
    """

    name: str
    party: str
    declared: pa.DataType | None
    description: Description
    rows: int = 0
    values: set[str] = field(default_factory=set)
    many: bool = False
    text: tuple[int, str] | None = None
    unbounded: int = 0
    coded: bool = False

    @property
    def type(self) -> str:
        """Type of the cells: `NUMBER`, `BOOLEAN`, `TEXT`, or an unusable one."""
        if self.declared is not None:
            return type_name(self.declared)
        return TEXT if self.text or self.coded else NUMBER

    @property
    def usable(self) -> bool:
        """Whether the cells can be used at all."""
        return self.type in (NUMBER, BOOLEAN, TEXT)

    @property
    def distinct(self) -> str:
        """How many values there are, in words."""
        return f"over {MOST_CATEGORIES:,}" if self.many else f"{len(self.values):,}"

    def see(self, cells: pa.Array) -> None:
        """Look at the next rows."""
        if self.usable:
            if not self.many:
                self._see_values(known(cells, self.description.missing))
            if self.declared is None and not self.coded:
                found = pc.match_substring_regex(cells, LEADING_ZERO)
                self.coded = bool(pc.any(found, min_count=0).as_py())
            if self.text is None:
                self._see_numbers(cells)
        self.rows += len(cells)

    def _see_values(self, text: pa.Array) -> None:
        self.values.update(pc.unique(text).drop_null().to_pylist())
        if len(self.values) > MOST_CATEGORIES:
            self.many, self.values = True, set(islice(self.values, MOST_CATEGORIES))

    def _see_numbers(self, cells: pa.Array) -> None:
        missing, decimal = self.description.missing, self.description.decimal
        try:
            numbers = as_numbers(cells, missing, decimal)
        except pa.ArrowInvalid:
            place, text = first_text(cells, missing, decimal)
            self.text = self.rows + place + 1, text
            return
        far = np.abs(numbers) > LARGEST
        if not self.unbounded and far.any():
            self.unbounded = self.rows + int(far.argmax()) + 1


def use_of(profile: Profile, stated: str) -> tuple[str, str]:
    """Decide on the use of a column.

    Parameters
    ----------
    profile : Profile
        Of all rows.
    stated : str
        What its party says; empty: nothing.

    Returns
    -------
    use : str
        ``numeric``, ``categorical`` or ``ignored``.
    why : str

    Raises
    ------
    DataError
        If it cannot be used as stated, or holds numbers that nothing can be done with.
    """
    use, why = (stated, "stated") if stated else _inferred(profile)
    if use != "ignored":
        _check(profile, use)
    return use, why


def _inferred(profile: Profile) -> tuple[str, str]:
    if not profile.usable:
        return "ignored", f"of type {profile.type}"
    if not profile.values:
        return "ignored", "no value in any row"
    if profile.type == NUMBER:
        return "numeric", "numbers"
    _check_commas(profile)
    if profile.many or len(profile.values) > min(_MOST_INFERRED, max(2, profile.rows / 2)):
        return "ignored", f"{profile.distinct} values in {profile.rows:,} rows"
    return "categorical", f"{profile.distinct} values"


def _check(profile: Profile, use: str) -> None:
    where = f"{profile.party}: column {profile.name}"
    if not profile.usable:
        raise DataError(f"{where} is of type {profile.type}, and cannot be {use}; ignore it")
    if not profile.values:
        raise DataError(f"{where} has no value in any row; ignore it")
    if use == "numeric":
        check_numbers(profile)
    elif profile.many:
        raise DataError(f"{where} has {profile.distinct} categories; group or ignore it")


def check_numbers(profile: Profile) -> None:
    """Refuse a column that is not numeric.

    Raises
    ------
    DataError
        Names the first row that is no number, or that is infinite or beyond float32.
    """
    where = f"{profile.party}: column {profile.name}"
    if profile.text:
        row, text = profile.text
        raise DataError(f"{where} is no number in row {row}; mend it, or say categorical", text)
    if profile.unbounded:
        raise DataError(
            f"{where} holds infinity, or what is beyond float32, in row {profile.unbounded}; "
            "clean or ignore it"
        )


def _check_commas(profile: Profile) -> None:
    """Refuse text that would be numbers with the other decimal mark."""
    if profile.text is None or profile.description.decimal == ",":
        return
    if all(re.fullmatch(_DECIMAL_COMMA, each) for each in [profile.text[1], *profile.values]):
        raise DataError(
            f"{profile.party}: column {profile.name} looks like numbers with decimal commas; "
            'set decimal = ",", or say what the column is'
        )
