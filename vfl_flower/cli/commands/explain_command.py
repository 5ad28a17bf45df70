"""``explain``: how much each party counts, or each column of one party."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vfl_flower.analysis.explain.choices import PARTS, REPEATS, How
from vfl_flower.analysis.explain.noise import SIGMA, check_noise
from vfl_flower.cli.checks import check_run
from vfl_flower.cli.options import AS_JSON, FOLDER, TRUST_CODE, told
from vfl_flower.common.errors import ConfigError
from vfl_flower.common.names import party_name
from vfl_flower.common.optional.extras import require
from vfl_flower.config.evaluation.metrics import AUTO
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import near, split_list

if TYPE_CHECKING:
    from vfl_flower.analysis.explain.retraining import Plan


@dataclass(frozen=True)
class Asked:
    """Questions of one command.

    Attributes
    ----------
    how : How
        On which rows columns are permuted, how often, and the metric.
    party : str or None
        The party whose columns are asked for.
    noise : float or None
        Deviation of the noise that heads are validated with.
    retrain : str or None
        Which parties to train again with.
    names : sequence of str
        Parties whose embeddings are drawn.
    out : Path or None
        Where files go.
    """

    how: How
    party: str | None
    noise: float | None
    retrain: str | None
    names: Sequence[str]
    out: Path | None

    @property
    def of_heads(self) -> str:
        """The first option that is about heads, if any."""
        given = {"--noise": self.noise, "--retrain": self.retrain, "--tsne": self.names or None}
        return next((flag for flag, value in given.items() if value is not None), "")

    def check(self) -> None:
        """Refuse options that do not fit together."""
        self.how.check()
        if self.noise is not None:
            check_noise(self.noise)
        if not self.out and (self.retrain is not None or self.names):
            raise ConfigError("--retrain and --tsne write files; say where with --out")
        if self.party is not None and (self.out or self.of_heads):
            raise ConfigError(
                "--party is of one party's columns; it takes --rows, --repeats and --metric"
            )
        if self.out:
            require("matplotlib", "explain --out")


@click.command()
@click.argument("run", type=FOLDER)
@click.option("--party", metavar="NAME", help="what each column of this party counts, for itself")
@click.option("--rows", default=PARTS[0], metavar="PART", help="validation (default) or test")
@click.option("--repeats", type=int, default=REPEATS, metavar="N", help=f"default: {REPEATS}")
@click.option(
    "--metric", default=AUTO, metavar="NAME", help="what must not fall; default: the run's"
)
@click.option("--out", type=FOLDER, metavar="FOLDER", help="also draw figures there")
@click.option("--noise", type=float, metavar="SIGMA", help=f"of ADMM methods; default: {SIGMA:g}")
@click.option(
    "--retrain",
    metavar="END:PERCENT",
    help="of ADMM methods: train again with the most (top:50) or least (bottom:50) important "
    "passive parties",
)
@click.option("--tsne", metavar="PARTIES", help="of ADMM methods: also draw these embeddings")
@TRUST_CODE
@AS_JSON
def explain(
    run: Path,
    party: str | None,
    rows: str,
    repeats: int,
    metric: str,
    out: Path | None,
    noise: float | None,
    retrain: str | None,
    tsne: str | None,
    trust_code: bool,
    as_json: bool,
) -> None:
    """Tell how much each party counts, or each column of one party.

    That is what predictions lose when its columns are permuted among rows.
    """
    names = [] if tsne is None else split_list(tsne)
    asked = Asked(How(rows, repeats, metric), party, noise, retrain, names, out)
    asked.check()
    check_run(run)
    work = _parties if party is None else _columns
    told(as_json, lambda: work(run, asked, trust_code))


def _columns(run: Path, asked: Asked, trust_code: bool) -> dict[str, Any]:
    """Explain one party's columns, and write that in its folder."""
    # torch is slow to import
    from vfl_flower.analysis.explain.overview import FILE, explain_columns
    from vfl_flower.analysis.explain.tables import print_counted
    from vfl_flower.analysis.explain.trained import complete_run
    from vfl_flower.reporting.console.lines import say

    folder, _ = complete_run(run, trust_code)
    name = asked.party or ""
    counted = explain_columns(folder, name, asked.how)
    print_counted(counted, f"columns of {name} in {folder.cfg.method}", "column")
    say(f"written to {folder.path / name / FILE}, for {name} alone")
    return {"party": name, **counted.told("column")}


def _parties(run: Path, asked: Asked, trust_code: bool) -> dict[str, Any]:
    """Compute, draw and retrain as asked; return all numbers."""
    # torch is slow to import
    from vfl_flower.analysis.explain.importance import heads_of
    from vfl_flower.analysis.explain.overview import explain_parties
    from vfl_flower.analysis.explain.retraining import Choice, plan
    from vfl_flower.analysis.explain.tables import print_counted, print_findings
    from vfl_flower.analysis.explain.trained import check_heads, complete_run
    from vfl_flower.runs.run_folder import RunFolder

    choice = Choice.read(asked.retrain) if asked.retrain is not None else None
    if asked.out:
        RunFolder.check_free(asked.out)
    folder, recorded = complete_run(run, trust_code)
    cfg = folder.cfg
    check_heads(cfg, asked.of_heads)
    _check_names(cfg, asked.names)
    heads = heads_of(folder, SIGMA if asked.noise is None else asked.noise)
    planned = plan(cfg, heads.findings, choice) if choice and heads else None
    counted = explain_parties(folder, asked.how)
    print_counted(counted, f"parties of {cfg.method} on {cfg.dataset}", "party")
    if heads:
        print_findings(heads.findings, recorded)
    if asked.out:
        # matplotlib is slow to import
        from vfl_flower.analysis.explain.figures import draw

        draw(folder, counted, heads, asked.names, asked.out)
    found: dict[str, Any] = {"method": cfg.method, "dataset": cfg.dataset, "recorded": recorded}
    found |= asdict(heads.findings) if heads else {}
    found["permutation"] = counted.told("party")
    found["retrained"] = _retrained(planned, asked.out, recorded) if planned else None
    return found


def _retrained(planned: "Plan", out: Path | None, full: float | None) -> dict[str, Any]:
    """Train a reduced run; tell its accuracy beside that of all parties."""
    # torch is slow to import
    from vfl_flower.analysis.explain.retraining import retrain
    from vfl_flower.analysis.explain.tables import print_summary

    assert out is not None  # noqa: S101  checked with the other options
    summary = retrain(planned, out)
    print_summary(summary, full, planned.full - 1)
    return asdict(summary)


def _check_names(cfg: RunConfig, names: Sequence[str]) -> None:
    """Refuse parties that are not there, or have no columns."""
    known = tuple(party_name(rank) for rank in range(cfg.parties - cfg.holders, cfg.parties))
    for name in names:
        if name not in known:
            raise ConfigError(f"--tsne: no party with columns is '{name}'{near(name, known)}")
