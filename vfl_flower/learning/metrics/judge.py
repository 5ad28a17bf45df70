"""Metrics of one model's predictions, by name."""

from typing import Any

from torch import Tensor

from vfl_flower.common.errors import TrainingError
from vfl_flower.common.names import load_object
from vfl_flower.config.catalog import MULTI_LABEL, REGRESSION
from vfl_flower.config.evaluation.metrics import METRICS, key_of, metrics_for
from vfl_flower.data.preprocessing.target import Target
from vfl_flower.learning.losses import Labels
from vfl_flower.learning.metrics.of_classes import by_class, confusion
from vfl_flower.learning.metrics.predictions import Predictions


def metrics_of(said: Predictions) -> dict[str, Any]:
    """Judge one party's predictions by all metrics of the task.

    Parameters
    ----------
    said : Predictions
        (N,) rows.

    Returns
    -------
    dict
        Each metric of `METRICS` for the task, None where it is not defined. Of classes also those
        of `by_class`, and ``confusion``: rows counted by true class and, within, by predicted
        class, (C, C). These, and the calibration error, count each row once, whatever it weighs.
    """
    # scikit-learn is slow to import
    from sklearn import config_context

    specs = metrics_for(said.target.task).items()
    with config_context(assume_finite=True, skip_parameter_validation=True):  # both are seen to
        judged = {key_of(name): load_object(spec.compute)(said) for name, spec in specs}
    if said.target.task in (REGRESSION, MULTI_LABEL):
        return judged
    return judged | by_class(said) | {"confusion": confusion(said)}


def score_of(name: str, output: Tensor, y: Labels, target: Target) -> float:
    """Judge outputs, (N, C), beside labels, (N,), by one metric; see `judged_by`."""
    return judged_by(name, Predictions.of(output, y, target))


def judged_by(name: str, said: Predictions) -> float:
    """Judge one party's predictions by one metric.

    Parameters
    ----------
    name : str
        One of `METRICS`.
    said : Predictions
        (N,) rows.

    Raises
    ------
    TrainingError
        If it is not defined for these predictions.
    """
    score = load_object(METRICS[name].compute)(said)
    if score is None:
        if not said.finite:
            raise TrainingError("a prediction is not finite; lower the learning rates")
        raise TrainingError(f"{name} is not defined for these rows: they lack one of the classes")
    return float(score)


def guess(y: Tensor) -> float:
    """Primary metric of the best constant prediction.

    Labels are (N,) or (N, C). It predicts the most frequent class, the mean, or all of several
    labels in each row.
    """
    if y.dim() == 2:
        shares = y.double().mean(0)
        return (2 * shares / (1 + shares)).mean().item()
    return 0.0 if y.is_floating_point() else majority_share(y)


def majority_share(y: Tensor) -> float:
    """Return the share of the most frequent label, (N,)."""
    return y.bincount().max().item() / len(y)
