"""Columns of a table in memory that no network can use."""

from typing import Any

import pyarrow.compute as pc

from vfl_flower.common.errors import DataError
from vfl_flower.data.columns import NUMBER
from vfl_flower.data.tables.column_profile import Profile
from vfl_flower.data.tables.description import Description
from vfl_flower.data.tables.files import plain
from vfl_flower.data.tables.row_ids import id_columns
from vfl_flower.data.tables.uses.advice import advice_of
from vfl_flower.data.tables.uses.use import use_of


def unused_columns(cells: Any, description: Description) -> dict[str, str]:  # noqa: ANN401
    """Find the columns that training would leave out unasked.

    Parameters
    ----------
    cells : pyarrow.Table
    description : Description
        What is said of them.

    Returns
    -------
    dict of str to str
        Why, by name.
    """
    by = (description.weight, description.group, description.time)
    said = (*description.labels, *by, *description.columns)
    known = {plain(each) for each in said} | {*id_columns(description)}
    found = {}
    for name, column in zip(cells.column_names, cells.columns, strict=True):
        if plain(name) not in known and (why := _why(plain(name), column, description)):
            found[plain(name)] = why
    return found


def _why(name: str, column: Any, description: Description) -> str:  # noqa: ANN401
    """Say why a column is left out; empty if it is used."""
    profile = Profile(name, "", column.type, description)
    if profile.type == NUMBER:  # which all can be used, and need no second look
        gaps = pc.all(pc.is_null(column, nan_is_null=True), min_count=0).as_py()
        return "no value in any row" if gaps else ""
    for chunk in column.chunks:
        profile.see(chunk)
    try:
        found = use_of(profile)
    except DataError:  # which training raises, with the name of the party
        return ""
    if found.use != "ignored":
        return ""
    return "; ".join(filter(None, (found.why, advice_of(profile, found.use).quoted)))
