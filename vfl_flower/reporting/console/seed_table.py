"""Console table of a run over several seeds or folds."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from vfl_flower.config.evaluation.metrics import scores_of
from vfl_flower.learning.metrics.names import score_name, shown
from vfl_flower.reporting.console.format import protected_unit, score
from vfl_flower.reporting.console.lines import out, say


def print_summary(summary: Mapping[str, Any]) -> None:
    """Print mean and standard deviation over seeds or folds."""
    others, kind = shown(summary["task"]), "fold" if "folds" in summary else "seed"
    title = f"{summary['method']} on {summary['dataset']}, {len(summary['seeds'])} {kind}s"
    table = Table(title=title, title_justify="left", collapse_padding=True)  # for narrow consoles
    table.add_column("party")
    for column in (f"test {score_name(summary['task'])}", *others):
        table.add_column(column, justify="right")
    spreads = scores_of(summary, "test") | summary.get("baselines", {})
    for name, spread in spreads.items():
        more = summary["metrics"].get(name, {})
        scores = [_spread_of_scores(more.get(key)) for key in others.values()] if more else []
        table.add_row(name, f"{spread['mean']:.2%} ± {spread['std']:.2%}", *scores)
    out.print(table)
    if privacy := summary.get("label_privacy"):
        once = {"seed": "each seed noised the labels anew", "fold": "noised once for all folds"}
        say(f"epsilon {privacy['epsilon']:g} a label in all: {once[kind]}")
    if privacy := summary.get("client_privacy"):
        unit = protected_unit(privacy)
        say(
            f"epsilon {float(privacy['epsilon']):.4g}, delta {privacy['delta']:g} for {unit} in "
            f"all: each {kind} made other uploads of it"
        )


def _spread_of_scores(spread: Mapping[str, float] | None) -> str:
    return f"{score(spread['mean'])} ± {score(spread['std'])}" if spread else score(None)
