"""Leakage cards of several methods."""

from typing import Any

from benchmarks.harness.benchmark import Arguments
from benchmarks.harness.report import Cell, Report
from benchmarks.shown.runs import column, some, trained
from vfl_flower.analysis.audit.card import Terms, leakage_card

AUDITED = ("easter", "splitnn", "vimadmm", "pravfed")
EPOCHS = 5


def leakage(given: Arguments, report: Report) -> None:
    """Attack runs of each method, before and after their protections."""
    for method in some(given, AUDITED):
        run = trained(given, method=method, epochs=EPOCHS)
        terms = Terms(epochs=min(EPOCHS, given.epochs), seeds=given.seeds)
        card = leakage_card(run.path, terms)
        protected = bool(card["protections"])
        columns = {"target": "", "attack": "", "figure": ""} | column("without", ".2f")
        columns |= {"baseline": ".2f"}
        columns |= column("with", ".2f") | {"its baseline": ".2f"} if protected else {}
        table = report.table(_title(method, card), columns | {"which": ""})
        for line in card["lines"]:
            figures = [*_cells(line["without"]), *(_cells(line["with"]) if protected else [])]
            names = line["target"], line["attack"], line["metric"]
            table.add(*names, *figures, line["against"])


def _title(method: str, card: dict[str, Any]) -> str:
    protection = ", ".join(card["protections"]) or "none"
    return (
        f"{method}, digits, 4 parties, MLPs, {card['epochs']} epochs, {card['rows']:,} training "
        f"rows, {card['known']} known labels a class, {card['auxiliary']} auxiliary rows; "
        f"protection: {protection}; mean of {len(card['seeds'])} seeds and half of a 95 % interval"
    )


def _cells(estimate: dict[str, Any] | None) -> list[Cell]:
    """Return a mean, half of its interval, and the baseline."""
    if estimate is None:
        return [None, None, None]
    mean, high = estimate["mean"], estimate["high"]
    return [mean, None if high is None else high - mean, estimate["baseline"]]
