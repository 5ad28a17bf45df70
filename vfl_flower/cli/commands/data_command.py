"""Commands ``data``: names, the parties' shares, and encodings of columns."""

from pathlib import Path

import click

from vfl_flower.cli.options import FILE, Command, given, options
from vfl_flower.common.errors import ConfigError
from vfl_flower.common.optional.extras import require
from vfl_flower.config.dataset_specs import DATASETS, is_table
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import Scalar
from vfl_flower.data.tables.description import description_with


@click.group(no_args_is_help=False)
def data() -> None:
    """Look at data sets."""


@data.command(name="list")
def list_all() -> None:
    """List the data sets by name.

    A row is an image, or a row of a table. Data sets that are not bundled lie in data-dir.
    """
    # rich is slow to import
    from vfl_flower.reporting.console.dataset_table import print_datasets

    print_datasets(DATASETS)


@data.command(cls=Command, params=options("Run", "Data"))
@click.option(
    "--picture",
    type=FILE,
    default="holdings.png",
    metavar="PNG",
    help="where to write it (default: holdings.png)",
)
def show(picture: Path, **flags: Scalar | None) -> None:
    """Draw and list each party's share."""
    require("PIL", "data show")
    cfg = RunConfig.from_mapping(given(flags))
    # torch is slow to import
    from vfl_flower.reporting.console.lines import say
    from vfl_flower.reporting.partition_picture import draw, lines_of

    draw(cfg, picture)
    for line in lines_of(cfg):
        say(line)
    say(f"drawn in {picture}")


@data.command()
@click.argument("table", type=FILE)
@click.option("--id", "ids", default="", metavar="COLUMN", help="of a table: column of the ids")
@click.option("--label", default="", metavar="COLUMN", help="of a table: column of the labels")
@click.option("--out", type=FILE, metavar="HTML", help="page that draws the columns, too")
def columns(table: Path, ids: str, label: str, out: Path | None) -> None:
    """Print the encoding of each column of an own table.

    TABLE is a toml description of the table, or the table itself. Nothing is written but the page
    of --out. It says how often values of the table's cells come: keep it to yourself.
    """
    if (ids or label) and not is_table(table.name):
        raise ConfigError(f"--id and --label are of tables; {table} describes one, and says them")
    described = description_with(table, ids, label)
    # pyarrow is slow to import
    from vfl_flower.data.tables.reader import read_table
    from vfl_flower.reporting.console.lines import say
    from vfl_flower.reporting.console.own_table import print_columns
    from vfl_flower.reporting.html.column_page import check_column_page, write_columns_page

    if out:
        check_column_page(out, (table, described.file))
    read = read_table(described, table.stem)
    print_columns(read)
    if out:
        write_columns_page(described, read, table.stem, out)
        say(f"drawn in {out}")
