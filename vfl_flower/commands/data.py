"""``data show``: a picture of who holds what; ``data columns``: what is made of an own table."""

from pathlib import Path

import click

from vfl_flower.config import RunConfig, Scalar
from vfl_flower.options import FILE, Command, given, knobs


@click.group(no_args_is_help=False)
def data() -> None:
    """Look at data sets."""


@data.command(cls=Command, params=knobs("run", "data"))
@click.option(
    "--picture",
    type=FILE,
    default="holdings.png",
    metavar="PNG",
    help="where to write it (default: holdings.png)",
)
def show(picture: Path, **flags: Scalar | None) -> None:
    """Draw who holds what, and list it."""
    from vfl_flower.console import say
    from vfl_flower.data.show import draw, lines_of

    cfg = RunConfig.from_mapping(given(flags))
    draw(cfg, picture)
    for line in lines_of(cfg):
        say(line)
    say(f"drawn in {picture}")


@data.command()
@click.argument("description", type=FILE, metavar="TOML")
def columns(description: Path) -> None:
    """Print what is made of each column of an own table.

    TOML describes the table. Nothing is written.
    """
    from vfl_flower.tables import print_columns, read_description, read_table

    print_columns(read_table(read_description(description), description.stem))
