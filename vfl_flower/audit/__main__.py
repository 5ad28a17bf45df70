"""``python -m vfl_flower.audit labels RUN``: what passive parties can infer about labels."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from vfl_flower.cli import Parser, guarded
from vfl_flower.errors import ConfigError


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code: 0, or 2 for an error."""
    return guarded(lambda: _run(arguments))


def _run(arguments: Sequence[str]) -> None:
    made = Parser(prog="python -m vfl_flower.audit", allow_abbrev=False)
    commands = made.add_subparsers(dest="command", required=True)
    labels = commands.add_parser(
        "labels",
        help="repeat a run with and without label privacy, and attack what passive parties receive",
        allow_abbrev=False,
    )
    labels.add_argument("run", type=Path, metavar="RUN", help="the run's folder")
    labels.add_argument("--at-most", type=int, default=3, metavar="EPOCHS", help="default: 3")
    labels.add_argument(
        "--known", type=int, default=10, metavar="N", help="labels a class that the attacker has"
    )
    labels.add_argument("--json", type=Path, metavar="FILE", help="also write the table there")
    given = made.parse_args(arguments)
    for name, value in (("at-most", given.at_most), ("known", given.known)):
        if value < 1:
            raise ConfigError(f"--{name} must be at least 1, not {value}")

    from vfl_flower.audit.labels import audit
    from vfl_flower.audit.table import print_audit
    from vfl_flower.state import write_atomically

    findings = audit(given.run, given.at_most, given.known)
    print_audit(findings)
    if given.json:
        text = json.dumps(asdict(findings), indent=2) + "\n"
        write_atomically(given.json, text.encode())


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
