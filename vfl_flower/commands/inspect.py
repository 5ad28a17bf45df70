"""``inspect``: a run at a glance."""

from pathlib import Path

import click

from vfl_flower.options import FOLDER


@click.command()
@click.argument("run", type=FOLDER)
@click.option(
    "--json", "as_json", is_flag=True, help="print the configuration and the result as JSON"
)
def inspect(run: Path, as_json: bool) -> None:
    """Show a run at a glance.

    That is its settings, stages, result, bytes, protections and models.
    """
    from vfl_flower.overview import overview, print_overview
    from vfl_flower.report.story import read_stories
    from vfl_flower.result import json_of

    (story,) = read_stories([run])
    if as_json:
        click.echo(json_of(overview(story)), nl=False)
    else:
        print_overview(story, run)
