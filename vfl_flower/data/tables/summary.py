"""Summary of a table's columns, for the console or a log."""

from vfl_flower.data.tables.description_keys import USES
from vfl_flower.data.tables.reader import OwnTable


def lines_of(table: OwnTable) -> list[str]:
    """Summarise the rows and the uses of columns in few lines.

    Parameters
    ----------
    table : OwnTable
        As for `print_columns`.
    """
    lines = [f"{len(table.ids):,} rows, ids of type {table.ids.type}", *table.notes]
    for use in USES:
        names = [each.name for each in table.looked if each.use == use]
        if names:
            lines.append(f"{use}: {', '.join(names)}")
    return lines
