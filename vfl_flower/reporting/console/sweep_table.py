"""Console lines and table of a sweep's trials."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.table import Table

from vfl_flower.reporting.console.lines import out, say


def say_trial(trial: Mapping[str, Any]) -> None:
    """Print one line about a trial that has ended."""
    options = "  ".join(f"{key} {value}" for key, value in trial["options"].items())
    say(f"trial {trial['number']}: {options}  {_outcome(trial)}")


def print_sweep(record: Mapping[str, Any], path: Path) -> None:
    """Print the trials, the best first; those without an accuracy last.

    Parameters
    ----------
    record : mapping
        Content of ``sweep.json``.
    path : Path
        The sweep's folder.
    """
    trials = sorted(record["done"], key=_rank)
    table = Table(title=f"{len(trials)} of {record['trials']} trials", title_justify="left")
    for column in ("trial", *record["over"], "validation accuracy"):
        table.add_column(column, justify="right")
    for trial in trials:
        options = [str(trial["options"][key]) for key in record["over"]]
        accuracy = trial["validation_accuracy"]
        shown = trial["state"] if accuracy is None else f"{accuracy:.2%}"
        table.add_row(str(trial["number"]), *options, shown)
    out.print(table)
    if record["best"] is not None:
        say(f"the best is {path / trials[0]['folder']}; all in {path}")


def _outcome(trial: Mapping[str, Any]) -> str:
    if trial["validation_accuracy"] is None:
        return f"{trial['state']}: {trial['error']}"
    return f"validation {trial['validation_accuracy']:.2%}"


def _rank(trial: Mapping[str, Any]) -> tuple[float, int]:
    accuracy = trial["validation_accuracy"]
    return (float("inf") if accuracy is None else -accuracy, trial["number"])
