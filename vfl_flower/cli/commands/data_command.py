"""Commands ``data``: names, the parties' shares, and encodings of columns."""

from pathlib import Path

import click

from vfl_flower.cli.options import FILE, Command, given, options
from vfl_flower.common.optional.extras import require
from vfl_flower.config.dataset_specs import DATASETS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import Scalar
from vfl_flower.data.tables.description import read_description


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
@click.argument("description", type=FILE, metavar="TOML")
def columns(description: Path) -> None:
    """Print the encoding of each column of an own table.

    TOML describes the table. Nothing is written.
    """
    described = read_description(description)
    # pyarrow is slow to import
    from vfl_flower.data.tables.reader import read_table
    from vfl_flower.reporting.console.own_table import print_columns

    print_columns(read_table(described, description.stem))
