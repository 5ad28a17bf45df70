"""``report``: one HTML page about runs, whole in itself."""

from pathlib import Path

import click

from vfl_flower.cli.options import FILE, FOLDER
from vfl_flower.common.optional.extras import require
from vfl_flower.reporting.html.place import check_page
from vfl_flower.reporting.html.story import read_stories

_PAGE = "report.html"


@click.command()
@click.argument("runs", nargs=-1, required=True, type=FOLDER, metavar="RUN...")
@click.option(
    "--page", type=FILE, metavar="HTML", help=f"default: {_PAGE} in the run's folder, or here"
)
def report(runs: tuple[Path, ...], page: Path | None) -> None:
    """Write one HTML page about runs.

    It has accuracies, curves, bytes and protections, and is whole in itself.
    """
    if page:
        check_page(page)
    require("matplotlib", "report")
    page = page or (runs[0] if len(runs) == 1 else Path()) / _PAGE
    stories = read_stories(runs)
    # matplotlib is slow to import
    from vfl_flower.reporting.console.lines import say
    from vfl_flower.reporting.html.page import write_page

    write_page(stories, page)
    say(f"written to {page}")
