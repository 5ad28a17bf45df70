"""Console tables of a run's result."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from vfl_flower.common.names import party_name
from vfl_flower.config.dataset_specs import DATASETS
from vfl_flower.config.evaluation.metrics import METRICS, key_of, scores_of
from vfl_flower.config.evaluation.positive import positive_text
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.metrics.names import score_name, shown
from vfl_flower.reporting.console.format import (
    by_row,
    data_name,
    ending,
    protected_unit,
    readable,
    score,
)
from vfl_flower.reporting.console.lines import out, say
from vfl_flower.reporting.profile_rows import WORK, profile_rows
from vfl_flower.runs.results import warnings_of


def baseline_rows(cfg: RunConfig) -> list[tuple[str, str, str]]:
    """Return the baselines' table rows: name, network and meaning."""
    network = cfg.listed_model(0)
    guessing = cfg.active_columns == "none"
    local = ("none", "best constant") if guessing else (network, "active party alone")
    return [("local", *local), ("central", network, "all columns pooled")]


MOST_CLASSES = 10
"""Classes of a confusion matrix that is printed."""

_FURTHER = ("average-precision", "precision", "recall", "brier", "calibration-error")
"""Metrics of two classes in a line of their own."""


def print_result(result: Mapping[str, Any], cfg: RunConfig) -> None:
    """Print a result: scores, traffic and protections."""
    table = Table(title=f"{cfg.method} on {data_name(cfg)}", title_justify="left")
    for column in ("party", "network", "optimizer"):
        table.add_column(column)
    for column in (f"test {score_name(result['task'])}", *shown(result["task"])):
        table.add_column(column, justify="right")
    for rank in range(1 if cfg.spec.alone else cfg.parties):
        name = party_name(rank)
        table.add_row(name, cfg.model_of(rank), cfg.steps_of(rank), *_scores_of(result, name))
    if result["baselines"]:
        table.add_section()
        for name, network, what in baseline_rows(cfg):
            table.add_row(name, network, what, f"{result['baselines'][name]:.2%}")
    out.print(table)
    _print_classes(result, cfg)
    _print_contributions(result)
    for text in (*_joined(result), *ending(result)):
        say(text)
    for text in warnings_of(result):
        out.print(Text.assemble(("warning: ", "bold yellow"), text), soft_wrap=True)
    print_bytes(result)
    if profile := result["profile"]:
        print_profile(profile)
    for name, value in result["figures"].items():
        say(f"{name.replace('_', ' ')}: {value:.4g}")
    print_protections(result)


def _print_classes(result: Mapping[str, Any], cfg: RunConfig) -> None:
    """Print the positive class, and the confusion of few classes."""
    if told := positive_text(result["positive"], result["positive_by"]):
        say(told)
    if result["positive"] and result["metrics"]:
        _say_further(result["metrics"]["active"])
    few = 0 < len(result["classes"]) <= MOST_CLASSES
    counted = "confusion" in result["metrics"].get("active", ())
    if counted and few and not DATASETS[cfg.dataset].images:
        _print_confusion(result)


def _joined(result: Mapping[str, Any]) -> list[str]:
    """Say who joined the model of an earlier run, if any did."""
    joined = result["joined"]
    if not joined:
        return []
    return [f"{' and '.join(joined['parties'])} joined {joined['model']}; others are as there"]


def _say_further(judged: Mapping[str, Any]) -> None:
    """Print metrics of the active party that have no column."""
    told = {METRICS[name].title: judged.get(key_of(name)) for name in _FURTHER}
    say(f"active: {', '.join(f'{title} {score(value)}' for title, value in told.items())}")


def _scores_of(result: Mapping[str, Any], name: str) -> list[str]:
    """Format one party's scores; dashes without a model."""
    keys = shown(result["task"]).values()
    scores = scores_of(result, "test")
    if name not in scores:
        return ["-", *("-" for _ in keys)]
    more = result["metrics"][name]
    return [f"{scores[name]:.2%}", *(score(more.get(key)) for key in keys)]


def _print_confusion(result: Mapping[str, Any]) -> None:
    """Print the active party's confusion matrix on the test rows."""
    say("test rows of each class, by the active party's prediction")  # wider than most such tables
    table = Table()
    table.add_column("class")
    for name in result["classes"]:
        table.add_column(Text(name), justify="right")
    rows = result["metrics"]["active"]["confusion"]
    for true, (name, row) in enumerate(zip(result["classes"], rows, strict=True)):
        table.add_row(Text(name), *(_counted(n, true == said) for said, n in enumerate(row)))
    out.print(table)


def _print_contributions(result: Mapping[str, Any]) -> None:
    """Print the active party's validation score without each passive party."""
    found = result["leave_one_out"]
    if not found["scores"]:
        return
    whole = scores_of(result, "validation")["active"]
    table = Table(title="active party on validation rows", title_justify="left")
    table.add_column("without")
    for column in (score_name(result["task"]), "change"):
        table.add_column(column, justify="right")
    table.add_row("nobody", f"{whole:.2%}", "")
    for name, reached in found["scores"].items():
        table.add_row(name, f"{reached:.2%}", f"{reached - whole:+.2%}")
    out.print(table)


def _counted(rows: int, right: bool) -> Text:
    """Colour a count of rows: right predictions green, wrong ones red."""
    return Text(str(rows), style="green" if right else "red" if rows else "dim")


def print_bytes(result: Mapping[str, Any]) -> None:
    """Print bytes by phase and direction, training and evaluation apart."""
    if not result["exchanges"]:
        say(f"no exchanges in {result['seconds']:.1f} s of training")
        return
    table = Table(title="bytes on the wire", title_justify="left")
    table.add_column("phase")
    for direction in ("up", "down"):
        table.add_column(direction, justify="right")
    for phase, n in result["bytes_by_phase"].items():
        table.add_row(phase, readable(n["up"]), readable(n["down"]))
    table.add_section()
    table.add_row("training", readable(result["bytes_up"]), readable(result["bytes_down"]))
    apart = result["evaluation"]
    table.add_row("evaluation", readable(apart["bytes_up"]), readable(apart["bytes_down"]))
    out.print(table)
    times = result["exchange_ms"]
    out.print(
        f"{result['exchanges']} exchanges in {result['seconds']:.1f} s, one takes "
        f"{times['median']:.1f} ms (99 % less than {times['p99']:.1f})"
    )


def print_profile(profile: Mapping[str, Any]) -> None:
    """Print where the time of each party went."""
    table = Table(title="seconds of this attempt", title_justify="left")
    table.add_column("party")
    for column in (*WORK, "other", "waiting"):
        table.add_column(column, justify="right")
    for row in profile_rows(profile):
        seconds = (*row.work, row.other, row.waiting)
        table.add_row(row.party, *(f"{each:.2f}" for each in seconds))
    out.print(table)


def print_protections(result: Mapping[str, Any]) -> None:
    """Print the protections of the parties' columns, and their gaps."""
    if result["protections"]:
        say(f"protected by {'; '.join(result['protections'])}")
    if privacy := result["client_privacy"]:
        _print_client_privacy(privacy)
    for text in result["unprotected"]:
        out.print(Text.assemble(("UNPROTECTED: ", "bold red"), text), soft_wrap=True)


def _print_client_privacy(privacy: Mapping[str, Any]) -> None:
    """Print the privacy cost of each passive party's uploads."""
    uploads, unit = privacy["uploads"].values(), protected_unit(privacy)
    if by_row(privacy):
        entered = f"{max(counts['row'] for counts in uploads)} uploads and gradients that it is in"
    else:
        entered = f"{max(sum(counts.values()) for counts in uploads)} uploads"
    say(
        f"epsilon {float(privacy['epsilon']):.4g} (of training {privacy['epsilon_training']:.4g}), "
        f"delta {privacy['delta']:g} for {unit}: {entered}, with sigma {privacy['sigma']:g}"
    )
