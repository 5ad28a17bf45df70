"""Number formats of the console."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vfl_flower.config.evaluation.metrics import metric_title
from vfl_flower.config.evaluation.threshold import USUAL, read_threshold
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import split_list
from vfl_flower.protocol.observer import Evaluation

_LARGE = 10_000
"""Errors from which on decimals say nothing."""


_ENDINGS = {
    "converged": "the coefficients have converged",
    "patience": "the score of the validation rows had not become better",
    "rounding": "rounding ended all progress before the coefficients had converged",
    "stop-drop": "the score of the validation rows had fallen",
    "target-epsilon": "one more, with the test rows, would have exceeded target-epsilon",
}
"""What ended a training before its last epoch was over."""


def ending(result: Mapping[str, Any]) -> list[str]:
    """Name an unusual end of training, and the weights that count."""
    told = _untrained(result)
    if why := _ENDINGS.get(result["ended_by"]):
        told.append(f"training ended at step {result['steps']}: {why}")
    if threshold := result.get("threshold"):
        told += _threshold(threshold)
    if result["counting_step"] != result["steps"]:
        told.append(f"the weights of step {result['counting_step']} count: the best on validation")
    return told


def _threshold(threshold: Mapping[str, Any]) -> list[str]:
    """Say which threshold predicts, unless it is the usual number."""
    rule, value = threshold["rule"], threshold["values"]["active"]
    if not read_threshold(rule).chosen:
        return [] if value == USUAL else [f"positive from a probability of {value:.4g} on"]
    return [
        f"positive from a probability of {value:.4g} on: chosen on the validation rows by {rule}, "
        f"at step {threshold['step']}"
    ]


def _untrained(result: Mapping[str, Any]) -> list[str]:
    """Say that no step was taken, as with no epochs."""
    if result["steps"]:
        return []
    if any(stage["done"] for stage in result["stages"]):
        return ["epochs is 0: nothing was trained after the stages before the first step"]
    return ["epochs is 0: nothing was trained, and all scores are those of initial weights"]


def data_name(cfg: RunConfig) -> str:
    """Name a run's data set, or its parties' own tables."""
    if not cfg.own_tables:
        return cfg.dataset
    names = [Path(each).stem for each in split_list(cfg.tables)]
    return " + ".join(names) if len(set(names)) == len(names) else "own tables"


def validated(evaluation: Evaluation) -> str:
    """Format the active party's validation score; a dash without validation rows."""
    if not evaluation.primary:
        return "-"
    text = f"{evaluation.primary['active']:.2%}"
    if evaluation.decisive is evaluation.primary:
        return text
    return f"{text}, {metric_title(evaluation.metric)} {score(evaluation.decisive['active'])}"


def score_text(metric: str, value: float) -> str:
    """Format a score: a percentage of accuracy and R², else a number."""
    return f"{value:.2%}" if metric in ("accuracy", "r2") else score(value)


def score(value: float | None) -> str:
    """Format an AUC, F1 or error; a dash without one."""
    if value is None:
        return "-"
    return f"{value:.4f}" if abs(value) < _LARGE else f"{value:,.0f}"


def readable(count: int) -> str:
    """Return bytes with a unit of 2**10, 2**20 or 2**30."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} B"


def by_row(privacy: Mapping[str, Any]) -> bool:
    """Tell whether noise protects rows; results of earlier versions do not say."""
    return privacy.get("adjacency") == "row"


def protected_unit(privacy: Mapping[str, Any]) -> str:
    """Name the unit that an epsilon of noise is for."""
    return "one row of a passive party" if by_row(privacy) else "a passive party's data"
