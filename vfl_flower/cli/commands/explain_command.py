"""``explain``: how much each party counts for the prediction."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from vfl_flower.analysis.explain.noise import SIGMA, check_noise
from vfl_flower.cli.checks import check_run
from vfl_flower.cli.options import AS_JSON, FOLDER, TRUST_CODE, told
from vfl_flower.common.errors import ConfigError
from vfl_flower.common.names import party_name
from vfl_flower.common.optional.extras import require
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import near, split_list


@click.command()
@click.argument("run", type=FOLDER)
@click.option("--out", type=FOLDER, metavar="FOLDER", help="also draw figures there")
@click.option("--noise", type=float, default=SIGMA, metavar="SIGMA", help=f"default: {SIGMA:g}")
@click.option(
    "--retrain",
    metavar="END:PERCENT",
    help="train again with the most (top:50) or least (bottom:50) important passive parties",
)
@click.option("--tsne", metavar="PARTIES", help="also draw the embeddings of these: one, or a list")
@TRUST_CODE
@AS_JSON
def explain(
    run: Path,
    out: Path | None,
    noise: float,
    retrain: str | None,
    tsne: str | None,
    trust_code: bool,
    as_json: bool,
) -> None:
    """Tell how much each party counts.

    That is the norm of its head, and what noise on its columns costs.
    """
    check_noise(noise)
    names = [] if tsne is None else split_list(tsne)
    if not out and (retrain is not None or names):
        raise ConfigError("--retrain and --tsne write files; say where with --out")
    if out:
        require("matplotlib", "explain --out")

    check_run(run)
    told(as_json, lambda: _explained(run, out, noise, retrain, names, trust_code))


def _explained(
    run: Path,
    out: Path | None,
    noise: float,
    retrain: str | None,
    names: Sequence[str],
    trust_code: bool,
) -> dict[str, Any]:
    """Compute, draw and retrain as asked; return all numbers."""
    # torch is slow to import
    from vfl_flower.analysis.explain.importance import explain as found
    from vfl_flower.analysis.explain.retraining import Choice, plan
    from vfl_flower.analysis.explain.retraining import retrain as retrained
    from vfl_flower.analysis.explain.tables import print_findings, print_summary
    from vfl_flower.analysis.explain.trained import complete_run, trained
    from vfl_flower.runs.run_folder import RunFolder

    choice = Choice.read(retrain) if retrain is not None else None
    if out:
        RunFolder.check_free(out)
    folder, recorded = complete_run(run, trust_code)
    _check_names(folder.cfg, names)
    parties = trained(folder)
    findings = found(parties, noise)
    planned = plan(folder.cfg, findings, choice) if choice else None
    print_findings(findings, recorded)
    if out:
        # matplotlib is slow to import
        from vfl_flower.analysis.explain.figures import draw

        draw(parties, findings, names, out)
    found_out: dict[str, Any] = {**asdict(findings), "recorded": recorded, "retrained": None}
    if planned and out:
        summary = retrained(planned, out)
        print_summary(summary, recorded, folder.cfg.parties - 1)
        found_out["retrained"] = asdict(summary)
    return found_out


def _check_names(cfg: RunConfig, names: Sequence[str]) -> None:
    """Refuse parties that are not there, or have no columns."""
    known = tuple(party_name(rank) for rank in range(cfg.parties - cfg.holders, cfg.parties))
    for name in names:
        if name not in known:
            raise ConfigError(f"--tsne: no party with columns is '{name}'{near(name, known)}")
