"""What was made of a table's columns, printed, or a line each for a log."""

from rich.table import Table
from rich.text import Text

from vfl_flower.console import out, say
from vfl_flower.tables.description import USES
from vfl_flower.tables.reading import OwnTable


def print_columns(table: OwnTable) -> None:
    """Print what each column is used for, and why; then the labels.

    Parameters
    ----------
    table : OwnTable
        Whose names alone are printed, and no values but those of classes.
    """
    shown = Table(title=f"{len(table.ids):,} rows, ids of type {table.ids.type}")
    for name in ("column", "type", "use", "why"):
        shown.add_column(name)
    for each in table.looked:
        shown.add_row(Text(each.name), each.type or "-", each.use, each.why)
    out.print(shown)
    if table.label is not None:
        say(f"label {table.label.name}: {table.task}{_classes(table.label.values)}")


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


def _classes(values: tuple[str, ...] | None) -> str:
    return "" if values is None else f" of {', '.join(values[:20])}"
