"""``python -m vfl_flower.predict RUN``: predict rows with the model folders of a run."""

import sys
from collections.abc import Sequence
from pathlib import Path

from vfl_flower.cli import Parser, guarded


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code: 0, or 2 for an error."""
    return guarded(lambda: _run(arguments))


def _run(arguments: Sequence[str]) -> None:
    given = _parser().parse_args(arguments)

    from vfl_flower.console import say
    from vfl_flower.predict.prediction import predict

    made = predict(given.run, given.rows, given.out)
    say(f"{made.rows:,} rows predicted, in {given.out}")
    if made.epsilon is not None:
        say(f"client-level epsilon is now {made.epsilon:.4g}")


def _parser() -> Parser:
    made = Parser(
        prog="python -m vfl_flower.predict",
        description="Predict rows of a run's data set with the model that the run left.",
        allow_abbrev=False,
    )
    made.add_argument("run", type=Path, metavar="RUN", help="the run's folder")
    made.add_argument("--rows", default="test", help="test, validation or all; default: test")
    made.add_argument("--out", type=Path, required=True, metavar="FILE", help="a CSV file")
    return made


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
