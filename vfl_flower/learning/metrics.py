"""Metrics of predictions: AUC, F1, fairness, confusion, regression errors."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vfl_flower.common.errors import TrainingError


def metrics_of(logits: Tensor, y: Tensor) -> dict[str, Any]:
    """Judge one party's predictions.

    Parameters
    ----------
    logits : Tensor
        (N, C).
    y : Tensor
        Labels, (N,), int64.

    Returns
    -------
    dict
        ``auc``: of two classes that of the second one's probability; of more the mean over one
        against the rest. Probabilities are the softmax's, whatever the loss. None where a class
        has no rows, or a logit is not finite. ``f1``: of two classes that of the second one; of
        more the macro average. ``class_accuracy_std``: the standard deviation over the classes of
        the accuracy on a class's rows (of the population; fairness); None where a class has none.
        ``confusion``: rows counted by true class and, within, by predicted class, (C, C).
    """
    # scikit-learn is slow to import
    from sklearn.metrics import confusion_matrix, f1_score

    classes = logits.shape[1]
    truth, predicted = y.cpu().numpy(), logits.argmax(1).cpu().numpy()
    average = "binary" if classes == 2 else "macro"
    asked = None if classes == 2 else range(classes)
    f1 = f1_score(truth, predicted, labels=asked, average=average, zero_division=0)
    confusion = confusion_matrix(truth, predicted, labels=range(classes))
    return {
        "auc": _auc(logits.double().cpu(), truth),
        "f1": float(f1),
        "class_accuracy_std": _spread(confusion),
        "confusion": confusion.tolist(),
    }


def _spread(confusion: NDArray[np.int64]) -> float | None:
    """Return the standard deviation over classes of their rows' accuracy."""
    rows = confusion.sum(axis=1)
    return float((confusion.diagonal() / rows).std()) if rows.all() else None


def _auc(logits: Tensor, truth: NDArray[np.int64]) -> float | None:
    """Compute the area under the ROC curve of tie-free ranking scores."""
    # scikit-learn is slow to import
    from sklearn.metrics import roc_auc_score

    classes = logits.shape[1]
    if not logits.isfinite().all() or 0 in np.bincount(truth, minlength=classes):
        return None
    if classes == 2:
        return float(roc_auc_score(truth, (logits[:, 1] - logits[:, 0]).numpy()))
    onehot = np.eye(classes, dtype=np.int64)[truth]
    return float(roc_auc_score(onehot, torch.log_softmax(logits, 1).numpy()))


def regression_metrics_of(output: Tensor, y: Tensor, deviation: float = 1.0) -> dict[str, Any]:
    """Judge one party's predictions of numbers.

    Parameters
    ----------
    output : Tensor
        (N, 1), standardised.
    y : Tensor
        Labels, (N,), standardised likewise.
    deviation : float
        What the labels were divided by: errors are told in their own unit.

    Returns
    -------
    dict
        ``mse``: the mean squared error, in the unit's square. ``mae``: the mean absolute error,
        in the unit. ``r2``: 1 - mse / variance of the labels; None where they are all alike. All
        are None where a prediction is not finite.
    """
    truth = y.double().cpu()
    errors = output.double().cpu().squeeze(1) - truth
    if not errors.isfinite().all():
        return {"mse": None, "mae": None, "r2": None}
    mse, variance = errors.square().mean().item(), truth.var(correction=0).item()
    return {
        "mse": mse * deviation**2,
        "mae": errors.abs().mean().item() * deviation,
        "r2": 1 - mse / variance if variance else None,
    }


def score_of(output: Tensor, y: Tensor) -> float:
    """Primary metric of a party's predictions: larger is better, at most 1.

    Parameters
    ----------
    output : Tensor
        (N, C), or (N, 1) of a regression.
    y : Tensor
        Labels, (N,): int64, or float32 of a regression.

    Returns
    -------
    float
        The accuracy, or R^2 of a regression, of which 0 is what the mean of the labels reaches.

    Raises
    ------
    TrainingError
        If a prediction of a number is not finite.
    """
    if not y.is_floating_point():
        return (output.argmax(1) == y).double().mean().item()
    r2 = regression_metrics_of(output, y)["r2"]
    if r2 is None:
        raise TrainingError("a prediction is not finite; lower the learning rates")
    return float(r2)


def guess(y: Tensor) -> float:
    """Primary metric of the best constant prediction for labels (N,).

    It predicts the most frequent class, or the mean.
    """
    return 0.0 if y.is_floating_point() else majority_share(y)


def majority_share(y: Tensor) -> float:
    """Return the share of the most frequent label, (N,)."""
    return y.bincount().max().item() / len(y)
