"""Console summary of a party's own table."""

from rich.table import Table
from rich.text import Text

from vfl_flower.data.tables.reader import OwnTable
from vfl_flower.data.tables.row_ids import type_of_ids
from vfl_flower.reporting.console.lines import out, say


def print_columns(table: OwnTable) -> None:
    """Print each column's use with its reason, then the labels.

    Parameters
    ----------
    table : OwnTable
        Whose names are printed, of values those of classes alone, and words among numbers.
    """
    shown = Table(title=f"{len(table.ids):,} rows, {type_of_ids(table.ids.type)}")
    for name in ("column", "type", "use", "why"):
        shown.add_column(name)
    for each in table.looked:
        shown.add_row(Text(each.name), each.type or "-", each.use, each.why)
    out.print(shown)
    for line in table.notes:
        say(line)
    for each in table.looked:
        if each.advice.text:
            say(f"{each.name}: {each.advice.quoted}")
    if table.label is not None:
        say(f"label {table.label.name}: {table.task}{_classes(table.label.values)}")


def _classes(values: tuple[str, ...] | None) -> str:
    return "" if values is None else f" of {', '.join(values[:20])}"
