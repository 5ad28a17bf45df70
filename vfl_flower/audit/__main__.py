"""``python -m vfl_flower.audit``: what parties can find out about each other.

``labels RUN``
    What passive parties can tell of the labels.
``reconstruct RUN [RUN ...]``
    What the active party can see of the others' tiles.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from vfl_flower.cli import Parser, guarded
from vfl_flower.errors import ConfigError


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code: 0, or 2 for an error."""
    return guarded(lambda: _run(_parser().parse_args(arguments)))


def _parser() -> Parser:
    made = Parser(prog="python -m vfl_flower.audit", allow_abbrev=False)
    commands = made.add_subparsers(required=True)
    labels = commands.add_parser(
        "labels",
        help="repeat a run with and without label privacy, and attack what passive parties receive",
        allow_abbrev=False,
    )
    labels.set_defaults(audit=_labels)
    labels.add_argument("run", type=Path, metavar="RUN", help="the run's folder")
    labels.add_argument("--at-most", type=int, default=3, metavar="EPOCHS", help="default: 3")
    labels.add_argument(
        "--known", type=int, default=10, metavar="N", help="labels a class that the attacker has"
    )
    reconstruct = commands.add_parser(
        "reconstruct",
        help="make pictures of passive parties' tiles of the feature maps that they send",
        allow_abbrev=False,
    )
    reconstruct.set_defaults(audit=_reconstruct)
    reconstruct.add_argument(
        "runs", type=Path, nargs="+", metavar="RUN", help="complete runs' folders"
    )
    reconstruct.add_argument(
        "--epochs", type=int, default=5, metavar="N", help="of the attacker's decoder (default: 5)"
    )
    reconstruct.add_argument("--pictures", type=Path, metavar="PNG", help="also draw some there")
    for each in (labels, reconstruct):
        each.add_argument("--json", type=Path, metavar="FILE", help="also write the table there")
    return made


def _run(given: argparse.Namespace) -> None:
    from vfl_flower.state import write_atomically

    told = given.audit(given)
    if given.json:
        write_atomically(given.json, f"{json.dumps(told, indent=2)}\n".encode())


def _labels(given: argparse.Namespace) -> dict[str, Any]:
    _at_least_one(given, "at-most", "known")

    from vfl_flower.audit.labels import audit
    from vfl_flower.audit.table import print_audit

    findings = audit(given.run, given.at_most, given.known)
    print_audit(findings)
    return asdict(findings)


def _reconstruct(given: argparse.Namespace) -> list[dict[str, Any]]:
    _at_least_one(given, "epochs")

    from vfl_flower.audit.reconstruction import attack, runs_with_maps
    from vfl_flower.audit.table import print_reconstruction
    from vfl_flower.state import write_atomically

    attacked = [attack(folder, given.epochs) for folder in runs_with_maps(given.runs)]
    print_reconstruction([findings for findings, _ in attacked])
    if given.pictures:
        from vfl_flower.audit.pictures import drawn  # matplotlib is slow to import

        write_atomically(given.pictures, drawn(attacked))
    return [findings.told() for findings, _ in attacked]


def _at_least_one(given: argparse.Namespace, *names: str) -> None:
    for name in names:
        value = getattr(given, name.replace("-", "_"))
        if value < 1:
            raise ConfigError(f"--{name} must be at least 1, not {value}")


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
