"""Console lines and table of a sweep's trials."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from rich.table import Table

from vfl_flower.config.evaluation.metrics import loss_of_score, metric_title
from vfl_flower.protocol.observer import VALIDATION
from vfl_flower.reporting.console.format import score_text
from vfl_flower.reporting.console.lines import out, say


def say_trial(trial: Mapping[str, Any], metric: str) -> None:
    """Print one line about a trial that has ended."""
    options = "  ".join(f"{key} {value}" for key, value in trial["options"].items())
    say(f"trial {trial['number']}: {options}  {_outcome(metric, trial)}")


def print_sweep(record: Mapping[str, Any], path: Path) -> None:
    """Print the trials, the best first; those without a score last.

    Parameters
    ----------
    record : mapping
        Content of ``sweep.json``.
    path : Path
        The sweep's folder.
    """
    metric = record["objective"].removeprefix(VALIDATION)
    trials = sorted(record["done"], key=partial(_rank, metric))
    table = Table(title=f"{len(trials)} of {record['trials']} trials", title_justify="left")
    for column in ("trial", *record["over"], f"validation {metric_title(metric)}"):
        table.add_column(column, justify="right")
    for trial in trials:
        options = [str(trial["options"][key]) for key in record["over"]]
        score = trial[record["objective"]]
        shown = trial["state"] if score is None else score_text(metric, score)
        table.add_row(str(trial["number"]), *options, shown)
    out.print(table)
    if record["best"] is not None:
        say(f"the best is {path / trials[0]['folder']}; all in {path}")


def _outcome(metric: str, trial: Mapping[str, Any]) -> str:
    score = trial[f"{VALIDATION}{metric}"]
    return (
        f"{trial['state']}: {trial['error']}"
        if score is None
        else (f"validation {score_text(metric, score)}")
    )


def _rank(metric: str, trial: Mapping[str, Any]) -> tuple[float, int]:
    score = trial[f"{VALIDATION}{metric}"]
    worse = float("inf") if score is None else loss_of_score(metric, score, 0.0)
    return (worse, trial["number"])
