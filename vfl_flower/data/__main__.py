"""``python -m vfl_flower.data show``: a picture of who holds what."""

import sys
from collections.abc import Sequence
from pathlib import Path

from vfl_flower.cli import Parser, add_knobs, guarded
from vfl_flower.config import RunConfig, kebab


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code: 0, or 2 for an error."""
    return guarded(lambda: _run(arguments))


def _run(arguments: Sequence[str]) -> None:
    from vfl_flower.console import say
    from vfl_flower.data.show import draw, lines_of

    made = Parser(prog="python -m vfl_flower.data", allow_abbrev=False)
    commands = made.add_subparsers(dest="command", required=True)
    show = commands.add_parser("show", help="draw who holds what", allow_abbrev=False)
    show.add_argument("--picture", default="holdings.png", metavar="PNG", help="where to write it")
    add_knobs(show, wanted=("run", "data"))
    given = vars(made.parse_args(arguments))
    del given["command"]
    picture = Path(given.pop("picture"))
    knobs = {kebab(name): value for name, value in given.items() if value is not None}
    cfg = RunConfig.from_mapping(knobs)
    draw(cfg, picture)
    for line in lines_of(cfg):
        say(line)
    say(f"drawn in {picture}")


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
