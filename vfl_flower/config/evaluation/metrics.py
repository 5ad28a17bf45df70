"""Metrics of predictions by name, with their tasks and direction.

One line here makes a metric known everywhere. Results call it by the same name with underscores.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from vfl_flower.config.catalog import BINARY, MULTI_CLASS, MULTI_LABEL, REGRESSION
from vfl_flower.config.schema import kebab


class MetricSpec(NamedTuple):
    """A metric of predictions.

    Attributes
    ----------
    compute : str
        ``module:function`` from `vfl_flower.learning.metrics.predictions.Predictions` to a number,
        or None where it is not defined.
    tasks : tuple of str
        Kinds of labels that it judges.
    title : str
        Display name.
    higher : bool
        Whether larger is better.
    share : bool
        Whether 1 is the difference between perfect and useless, so that percentage points of it
        mean something.
    column : tuple of str
        Tasks whose tables show it.
    every_class : bool
        Whether it is not defined where a class has no row.
    """

    compute: str
    tasks: tuple[str, ...]
    title: str
    higher: bool = True
    share: bool = True
    column: tuple[str, ...] = ()
    every_class: bool = False


_CLASSES = "vfl_flower.learning.metrics.of_classes"
_NUMBERS = "vfl_flower.learning.metrics.of_numbers"
_LABEL_SETS = "vfl_flower.learning.metrics.of_label_sets"
_ANY, _TWO, _NONE = (BINARY, MULTI_CLASS), (BINARY,), (REGRESSION,)
_SETS, _ALL = (MULTI_LABEL,), (BINARY, MULTI_CLASS, MULTI_LABEL)
METRICS = {
    "accuracy": MetricSpec(f"{_CLASSES}:accuracy", _ANY, "accuracy"),
    "balanced-accuracy": MetricSpec(
        f"{_CLASSES}:balanced_accuracy", _ANY, "balanced accuracy", every_class=True
    ),
    "auc": MetricSpec(f"{_CLASSES}:auc", _ALL, "AUC", column=_ALL, every_class=True),
    "average-precision": MetricSpec(
        f"{_CLASSES}:average_precision", _ALL, "PR-AUC", every_class=True
    ),
    "precision": MetricSpec(f"{_CLASSES}:precision", _ALL, "precision"),
    "recall": MetricSpec(f"{_CLASSES}:recall", _ALL, "recall"),
    "f1": MetricSpec(f"{_CLASSES}:f1", _ALL, "F1", column=_ALL),
    "brier": MetricSpec(f"{_CLASSES}:brier", _TWO, "Brier score", higher=False),
    "calibration-error": MetricSpec(
        f"{_CLASSES}:calibration_error", _TWO, "calibration error", higher=False
    ),
    "log-loss": MetricSpec(f"{_CLASSES}:log_loss", _ANY, "log loss", higher=False, share=False),
    "micro-f1": MetricSpec(f"{_LABEL_SETS}:micro_f1", _SETS, "micro F1"),
    "subset-accuracy": MetricSpec(
        f"{_LABEL_SETS}:subset_accuracy", _SETS, "subset accuracy", column=_SETS
    ),
    "hamming-loss": MetricSpec(f"{_LABEL_SETS}:hamming_loss", _SETS, "Hamming loss", higher=False),
    "r2": MetricSpec(f"{_NUMBERS}:r2", _NONE, "R²"),
    "mse": MetricSpec(f"{_NUMBERS}:mse", _NONE, "MSE", higher=False, share=False),
    "rmse": MetricSpec(f"{_NUMBERS}:rmse", _NONE, "RMSE", higher=False, share=False, column=_NONE),
    "mae": MetricSpec(f"{_NUMBERS}:mae", _NONE, "MAE", higher=False, share=False, column=_NONE),
}
"""Metrics by name."""


AUTO = "auto"
"""The primary metric of a task, where no other is named."""


def key_of(name: str) -> str:
    """Return the name of a metric in results."""
    return name.replace("-", "_")


def metric_title(key: str) -> str:
    """Return the display name of a metric, by its name in results."""
    return METRICS[kebab(key)].title


def metric_names() -> tuple[str, ...]:
    """Return the names of all metrics."""
    return tuple(METRICS)


def metrics_for(task: str) -> dict[str, MetricSpec]:
    """Return the metrics of a task, by name."""
    return {name: spec for name, spec in METRICS.items() if task in spec.tasks}


def deciding(metric: str, task: str) -> str:
    """Name the metric that decides, by the option and the task."""
    return primary(task) if metric == AUTO else metric


def primary(task: str) -> str:
    """Name the primary metric of a task.

    It is accuracy, of numbers r2, and of several labels f1.
    """
    return {REGRESSION: "r2", MULTI_LABEL: "f1"}.get(task, "accuracy")


def better(name: str, score: float, other: float) -> bool:
    """Tell whether a score of a metric is better than another."""
    return loss_of_score(name, score, other) < 0


def loss_of_score(name: str, score: float, best: float) -> float:
    """Return by how much a score is worse than the best."""
    return best - score if METRICS[kebab(name)].higher else score - best


def scores_of(content: Mapping[str, Any], part: str) -> dict[str, Any]:
    """Return the primary scores of a result, by party.

    Parameters
    ----------
    content : mapping
        A result, or the summary of several.
    part : {"test", "validation"}
        Which rows.
    """
    scores: dict[str, Any] = content[f"{part}_{primary(content['task'])}"]
    return scores
