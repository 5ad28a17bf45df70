"""Console table of the known data sets."""

from collections.abc import Mapping

from rich.table import Table

from vfl_flower.common.optional.extras import EXTRAS
from vfl_flower.config.dataset_specs import DataSetSpec
from vfl_flower.reporting.console.lines import out


def print_datasets(known: Mapping[str, DataSetSpec]) -> None:
    """Print the name, kind, place and needed extra of each data set."""
    table = Table()
    for column in ("data set", "a row is", "from", "needs"):
        table.add_column(column, no_wrap=True)
    for name, each in known.items():
        kind = "an image" if each.images else "a table's"
        place = "data-dir" if each.in_data_dir else "bundled"
        if name == "own":
            place = "each party"
        table.add_row(name, kind, place, f"extra {EXTRAS[each.needs]}" if each.needs else "")
    out.print(table)
