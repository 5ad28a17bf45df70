"""Summary of a table's columns, for the console or a log."""

from vfl_flower.data.tables.description_keys import USES
from vfl_flower.data.tables.reader import OwnTable
from vfl_flower.data.tables.row_ids import type_of_ids

_MOST = 20
"""Columns that are left out and have a line each."""

_ASKED = ("stated", "as at training")
"""Reasons that need no advice."""


def lines_of(table: OwnTable) -> list[str]:
    """Summarise the rows and the uses of columns in few lines.

    Parameters
    ----------
    table : OwnTable
        As for `print_columns`.
    """
    lines = [f"{len(table.ids):,} rows, {type_of_ids(table.ids.type)}", *table.notes]
    for use in USES:
        names = [each.name for each in table.looked if each.use == use]
        if names:
            lines.append(f"{use}: {', '.join(names)}")
    return lines


def left_out(table: OwnTable) -> list[str]:
    """Explain columns that are ignored unasked, with advice.

    Parameters
    ----------
    table : OwnTable
        No line has anything that a cell says.
    """
    unasked = [each for each in table.looked if each.use == "ignored" and each.why not in _ASKED]
    lines = [
        "; ".join(filter(None, (f"column {each.name} is ignored: {each.why}", each.advice.text)))
        for each in unasked[:_MOST]
    ]
    if len(unasked) > _MOST:
        lines.append(f"{len(unasked) - _MOST:,} more columns are ignored; see data columns")
    return lines
