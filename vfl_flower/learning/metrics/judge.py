"""Metrics of one model's predictions, by name."""

from typing import Any

from torch import Tensor

from vfl_flower.common.errors import TrainingError
from vfl_flower.common.names import load_object
from vfl_flower.config.evaluation.metrics import METRICS, key_of, metrics_for, primary
from vfl_flower.data.preprocessing.target import Target
from vfl_flower.learning.metrics.of_classes import confusion, spread
from vfl_flower.learning.metrics.predictions import Predictions


def metrics_of(output: Tensor, y: Tensor, target: Target) -> dict[str, Any]:
    """Judge one party's predictions by all metrics of the task.

    Parameters
    ----------
    output : Tensor
        (N, C), or (N, 1) of a regression, standardised.
    y : Tensor
        Labels, (N,): int64, or of a regression float32, standardised.
    target : Target
        What the labels are.

    Returns
    -------
    dict
        Each metric of `METRICS` for the task, None where it is not defined. Of classes also
        ``class_accuracy_std``: the standard deviation over the classes of the accuracy on a class's
        rows, and ``confusion``: rows counted by true class and, within, by predicted class, (C, C).
    """
    said = Predictions(output, y, target)
    judged = {
        key_of(name): load_object(spec.compute)(said)
        for name, spec in metrics_for(target.task).items()
    }
    if not target.classes:
        return judged
    counts = confusion(said)
    return judged | {"class_accuracy_std": spread(counts), "confusion": counts}


def score_of(name: str, output: Tensor, y: Tensor, target: Target) -> float:
    """Score of a party's predictions by one metric.

    Parameters
    ----------
    name : str
        One of `METRICS`.
    output, y, target
        See `metrics_of`.

    Raises
    ------
    TrainingError
        If it is not defined for these predictions.
    """
    score = load_object(METRICS[name].compute)(Predictions(output, y, target))
    if score is None:
        if not output.isfinite().all():
            raise TrainingError("a prediction is not finite; lower the learning rates")
        raise TrainingError(f"{name} is not defined for these rows: they lack one of the classes")
    return float(score)


def guess(y: Tensor) -> float:
    """Primary metric of the best constant prediction for labels (N,).

    It predicts the most frequent class, or the mean.
    """
    return 0.0 if y.is_floating_point() else majority_share(y)


def majority_share(y: Tensor) -> float:
    """Return the share of the most frequent label, (N,)."""
    return y.bincount().max().item() / len(y)


def primary_score(output: Tensor, y: Tensor, target: Target) -> float:
    """Accuracy, or R^2, of a party's predictions; see `score_of`."""
    return score_of(primary(target.task), output, y, target)
