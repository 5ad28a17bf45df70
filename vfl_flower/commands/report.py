"""``report``: one HTML page about runs, whole in itself."""

from pathlib import Path

import click

from vfl_flower.errors import ConfigError
from vfl_flower.options import FILE, FOLDER

PAGE = "report.html"


@click.command()
@click.argument("runs", nargs=-1, required=True, type=FOLDER, metavar="RUN...")
@click.option(
    "--page", type=FILE, metavar="HTML", help=f"default: {PAGE} in the run's folder, or here"
)
def report(runs: tuple[Path, ...], page: Path | None) -> None:
    """Write one HTML page about runs.

    It has accuracies, curves, bytes and protections, and is whole in itself.
    """
    if page and page.suffix not in (".html", ".htm"):
        raise ConfigError(f"--page must name an .html file, not {page}")

    from vfl_flower.console import say
    from vfl_flower.report.page import render
    from vfl_flower.report.story import read_stories
    from vfl_flower.state import write_atomically

    page = page or (runs[0] if len(runs) == 1 else Path()) / PAGE
    stories = read_stories(runs)
    write_atomically(page, render(stories).encode())
    say(f"written to {page}")
