"""Leakage cards of all methods."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.harness.benchmark import Arguments
from benchmarks.harness.report import Cell, Report
from benchmarks.shown.runs import column, some, spread, trained
from vfl_flower.analysis.audit.card import Terms, leakage_card
from vfl_flower.config.registry import specs

EPOCHS = 5
"""That attacks see."""
LARGER = ("easter", "splitnn", "vimadmm", "pravfed")
"""Methods that are attacked on larger images, too."""
OWN: Mapping[str, Mapping[str, Any]] = {
    "adptvfedconv": {"models": "mixed", "partition": "grid:2x2", "width": 0.25}
}
"""Options of methods that take no MLP."""
RUNS = {"method": "", "data": "", "rows": ",d"} | column("accuracy, %", ".1f") | {"protection": ""}
FIGURES = dict.fromkeys(("method", "data", "target", "attack", "figure"), "")
FIGURES |= column("without", ".2f") | {"baseline": ".2f"}
FIGURES |= column("with", ".2f") | {"its baseline": ".2f", "which": ""}


def leakage(given: Arguments, report: Report) -> None:
    """Attack a run of each method with networks on digits."""
    _audited(given, report, [(name, "digits") for name in sending(networks=True)])


def leakage_steps(given: Arguments, report: Report) -> None:
    """Attack runs of methods that step on all rows, on digits."""
    _audited(given, report, [(name, "digits") for name in sending(networks=False)])


def sending(*, networks: bool) -> list[str]:
    """Name the methods whose parties send something, with networks or without."""
    found = {name: each for name, each in specs().items() if not (each.alone or each.pools)}
    return [name for name, each in found.items() if ("batch_size" not in each.unused) == networks]


def leakage_images(given: Arguments, report: Report) -> None:
    """Attack runs of some methods on larger images."""
    runs = [(name, given.attacked) for name in LARGER]
    _audited(given, report, runs, train_rows=given.train_rows)


def _audited(
    given: Arguments,
    report: Report,
    runs: Sequence[tuple[str, str]],
    **common: Any,  # noqa: ANN401
) -> None:
    """Add a table of runs, and one of all attacks on them."""
    told = report.table("runs", RUNS)
    table = report.table("", FIGURES)
    for method, data in some(given, runs):
        options: dict[str, Any] = {
            **common,
            "method": method,
            "epochs": EPOCHS,
            **OWN.get(method, {}),
        }
        made = [trained(given, seed, data, **options) for seed in range(given.seeds)]
        card = leakage_card(made[0].path, Terms(epochs=EPOCHS, seeds=given.seeds))
        accuracy = spread([100 * run.result["test_accuracy"]["active"] for run in made])
        protection = ", ".join(card["protections"]) or "none"
        told.add(method, data, card["rows"], *accuracy, protection)
        for line in card["lines"]:
            names = line["target"], line["attack"], line["metric"]
            figures = [*figures_of(line["without"]), *figures_of(line["with"])]
            table.add(method, data, *names, *figures, line["against"])
    table.title = (
        f"4 parties, MLPs, {min(EPOCHS, given.epochs)} epochs, {card['known']} known labels a "
        f"class, {card['auxiliary']} auxiliary rows; means of {given.seeds} seeds and halves of "
        "95 % intervals"
    )


def figures_of(estimate: Mapping[str, Any] | None) -> list[Cell]:
    """Return a mean, half of its interval, and the baseline."""
    if estimate is None:
        return [None, None, None]
    mean, high = estimate["mean"], estimate["high"]
    return [mean, None if high is None else high - mean, estimate["baseline"]]
