"""``python -m vfl_flower.explain RUN``: how much each party counts for the prediction."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from vfl_flower.cli import Parser, guarded
from vfl_flower.config import RunConfig, near
from vfl_flower.errors import ConfigError

SIGMA, MOST_SIGMA = 10.0, 1e6


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code: 0, or 2 for an error."""
    return guarded(lambda: _run(_parser().parse_args(arguments)))


def _parser() -> Parser:
    made = Parser(
        prog="python -m vfl_flower.explain",
        description="Tell how much each party of a run counts: the norm of its head, and what "
        "noise on its columns costs.",
        allow_abbrev=False,
    )
    made.add_argument("run", type=Path, metavar="RUN", help="the run's folder")
    made.add_argument("--out", type=Path, metavar="FOLDER", help="also draw figures there")
    made.add_argument(
        "--noise", type=float, default=SIGMA, metavar="SIGMA", help=f"default: {SIGMA:g}"
    )
    made.add_argument(
        "--retrain",
        metavar="END:PERCENT",
        help="train again with the most (top:50) or least (bottom:50) important passive parties",
    )
    made.add_argument(
        "--tsne", nargs="+", default=[], metavar="PARTY", help="also draw these parties' embeddings"
    )
    made.add_argument("--json", type=Path, metavar="FILE", help="also write the table there")
    return made


def _run(given: argparse.Namespace) -> None:
    if not 0 < given.noise <= MOST_SIGMA:
        raise ConfigError(
            f"--noise must be above 0 and up to {MOST_SIGMA:g} standard deviations, not "
            f"{given.noise:g}"
        )
    if not given.out and (given.retrain is not None or given.tsne):
        raise ConfigError("--retrain and --tsne write files; say where with --out")

    from vfl_flower.explain.importance import explain
    from vfl_flower.explain.summary import Choice, plan, retrain
    from vfl_flower.explain.table import print_findings, print_summary
    from vfl_flower.explain.trained import complete_run, trained
    from vfl_flower.runs import RunFolder
    from vfl_flower.state import write_atomically

    choice = Choice.read(given.retrain) if given.retrain is not None else None
    if given.out:
        RunFolder.check_free(given.out)
    folder, recorded = complete_run(given.run)
    _check_names(folder.cfg, given.tsne)
    parties = trained(folder)
    findings = explain(parties, given.noise)
    planned = plan(folder.cfg, findings, choice) if choice else None
    print_findings(findings, recorded)
    if given.out:
        from vfl_flower.explain.figures import draw  # matplotlib is slow to import

        draw(parties, findings, given.tsne, given.out)
    told: dict[str, Any] = {**asdict(findings), "recorded": recorded, "retrained": None}
    if planned:
        summary = retrain(planned, given.out)
        print_summary(summary, recorded, folder.cfg.parties - 1)
        told["retrained"] = asdict(summary)
    if given.json:
        write_atomically(given.json, f"{json.dumps(told, indent=2)}\n".encode())


def _check_names(cfg: RunConfig, names: Sequence[str]) -> None:
    """Refuse parties that are not there, or have no columns."""
    from vfl_flower.names import member_name

    known = tuple(member_name(place) for place in range(cfg.parties - cfg.holders, cfg.parties))
    for name in names:
        if name not in known:
            raise ConfigError(f"--tsne: no party with columns is '{name}'{near(name, known)}")


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
