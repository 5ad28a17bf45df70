"""``inspect``: a run at a glance."""

from pathlib import Path

import click

from vfl_flower.cli.options import AS_JSON, FOLDER, told


@click.command()
@click.argument("run", type=FOLDER)
@AS_JSON
def inspect(run: Path, as_json: bool) -> None:
    """Show a run at a glance.

    That is its settings, stages, result, bytes, protections and models.
    """
    # rich is slow to import
    from vfl_flower.reporting.html.story import read_stories
    from vfl_flower.reporting.overview import overview, print_overview

    (story,) = read_stories([run])

    if as_json:
        told(as_json, lambda: overview(story))
    else:
        print_overview(story, run)
