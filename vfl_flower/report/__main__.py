"""``python -m vfl_flower.report RUN [RUN ...]``: one HTML page about runs, whole in itself."""

import sys
from collections.abc import Sequence
from pathlib import Path

from vfl_flower.cli import Parser, guarded
from vfl_flower.errors import ConfigError

PAGE = "report.html"


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code: 0, or 2 for an error."""
    return guarded(lambda: _run(arguments))


def _run(arguments: Sequence[str]) -> None:
    made = Parser(
        prog="python -m vfl_flower.report",
        description="Write one HTML page about runs: accuracies, curves, bytes, protections.",
        allow_abbrev=False,
    )
    made.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run folders")
    made.add_argument(
        "--page", type=Path, metavar="HTML", help=f"default: {PAGE} in the run's folder, or here"
    )
    given = made.parse_args(arguments)

    from vfl_flower.console import say
    from vfl_flower.report.page import render
    from vfl_flower.report.story import read_stories
    from vfl_flower.state import write_atomically

    if given.page and given.page.suffix not in (".html", ".htm"):
        raise ConfigError(f"--page must name an .html file, not {given.page}")
    page = given.page or (given.runs[0] if len(given.runs) == 1 else Path()) / PAGE
    stories = read_stories(given.runs)
    write_atomically(page, render(stories).encode())
    say(f"written to {page}")


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
