"""What was made of a table's columns, printed, or a line each for a log."""

from vfl_flower.data.tables.description import USES
from vfl_flower.data.tables.reader import OwnTable


def lines_of(table: OwnTable) -> list[str]:
    """Say the same shorter: how many rows there are, and which columns are used for what.

    Parameters
    ----------
    table : OwnTable
        As for `print_columns`.
    """
    lines = [f"{len(table.ids):,} rows, ids of type {table.ids.type}"]
    for use in USES:
        names = [each.name for each in table.looked if each.use == use]
        if names:
            lines.append(f"{use}: {', '.join(names)}")
    return lines
