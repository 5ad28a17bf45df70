"""Metrics of predicted classes, by scikit-learn.

Of two classes they are those of the positive one; of more, averages over the classes that count
each class alike, and of several labels likewise over the labels. What needs a row of each class, or
finite outputs, is None without.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfl_flower.learning.metrics.predictions import Predictions

BINS = 10
"""Bins of the calibration error, equally wide from 0 to 1."""


def accuracy(said: Predictions) -> float:
    """Share of the rows whose class is predicted."""
    right = said.decided == said.truth
    return float(
        np.average(right, weights=said.counted["sample_weight"]) if said.counted else right.mean()
    )


def balanced_accuracy(said: Predictions) -> float | None:
    """Mean over classes of the share of rows that is predicted."""
    return float(said.by_class.recall.mean()) if said.complete else None


def auc(said: Predictions) -> float | None:
    """Area under the ROC curve, of each class against the rest."""
    # scikit-learn is slow to import
    from sklearn.metrics import roc_auc_score

    return _ranked(said, roc_auc_score)


def average_precision(said: Predictions) -> float | None:
    """Average precision, the area under steps of the precision-recall curve."""
    # scikit-learn is slow to import
    from sklearn.metrics import average_precision_score

    return _ranked(said, average_precision_score)


def _ranked(said: Predictions, score: Any) -> float | None:  # noqa: ANN401
    """Compute a metric of an order of the rows."""
    if not said.finite or not said.complete:
        return None
    if said.binary:
        return float(score(said.hits, said.ranking, **said.counted))
    if said.several:
        return float(
            score(said.truth, said.output.double().cpu().numpy(), average="macro", **said.counted)
        )
    onehot = np.eye(said.classes, dtype=np.int64)[said.truth]
    return float(score(onehot, said.logs, average="macro", **said.counted))


def precision(said: Predictions) -> float:
    """Share of the positive predictions that are true; 0 without any."""
    return _decided(said, said.by_class.precision)


def recall(said: Predictions) -> float:
    """Share of the positive rows that are found; 0 without any."""
    return _decided(said, said.by_class.recall)


def f1(said: Predictions) -> float:
    """Harmonic mean of precision and recall."""
    return _decided(said, said.by_class.f1)


def _decided(said: Predictions, scores: NDArray[np.float64]) -> float:
    """Take the positive class's score, or the mean of all, (C,)."""
    defined = np.nan_to_num(scores)
    return float(defined[said.target.positive] if said.binary else defined.mean())


def brier(said: Predictions) -> float | None:
    """Mean squared error of the positive class's probability."""
    # scikit-learn is slow to import
    from sklearn.metrics import brier_score_loss

    if not said.finite:
        return None
    return float(brier_score_loss(said.hits, said.likelihood, pos_label=True, **said.counted))


def calibration_error(said: Predictions) -> float | None:
    """Compute the expected calibration error of the positive class's probability.

    Rows are put into `BINS` bins by their probability. A bin's error is the difference between its
    mean probability and its share of positive rows; the result is their mean over the rows.
    """
    if not said.finite:
        return None
    predicted, found, rows = reliability(said)
    return float(np.average(np.abs(predicted - found), weights=rows))


def reliability(said: Predictions) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the calibration curve of the bins that have rows, (B,) each.

    Returns
    -------
    predicted, found : ndarray of float64
        Mean probability of the positive class, and share of positive rows.
    rows : ndarray of int
        How many the bin has.
    """
    # scikit-learn is slow to import
    from sklearn.calibration import calibration_curve

    found, predicted = calibration_curve(said.hits, said.likelihood, n_bins=BINS, pos_label=True)
    inner = np.linspace(0, 1, BINS + 1)[1:-1]  # the same edges as in calibration_curve
    counts = np.bincount(np.searchsorted(inner, said.likelihood), minlength=BINS)
    return predicted, found, counts[counts > 0]


def log_loss(said: Predictions) -> float | None:
    """Mean negative logarithm of the true class's probability."""
    # scikit-learn is slow to import
    from sklearn.metrics import log_loss as of_probabilities

    if not said.finite:
        return None
    return float(
        of_probabilities(said.truth, said.shares, labels=range(said.classes), **said.counted)
    )


def by_class(said: Predictions) -> dict[str, Any]:
    """Compute precision and recall of each class, and their deviations over classes.

    Each row counts once, whatever it weighs.

    Returns
    -------
    dict
        ``class_precision`` and ``class_recall``, (C,) each, None of a class that no row is
        predicted as, or has; ``class_precision_std`` and ``class_accuracy_std``, as `spread` of
        them. A class's recall is the accuracy on its rows.
    """
    alike = said.by_class if said.weight is None else replace(said, weight=None).by_class
    precisions, recalls = alike.precision, alike.recall
    return {
        "class_precision": _without_nan(precisions),
        "class_recall": _without_nan(recalls),
        "class_precision_std": spread(precisions),
        "class_accuracy_std": spread(recalls),
    }


def _without_nan(values: NDArray[np.float64]) -> list[float | None]:
    """Return numbers, (C,), with None for those that are not defined."""
    return [None if np.isnan(each) else float(each) for each in values]


def confusion(said: Predictions) -> list[list[int]]:
    """Count rows by true class and, within, by predicted class, (C, C)."""
    # scikit-learn is slow to import
    from sklearn.metrics import confusion_matrix

    counts = confusion_matrix(said.truth, said.decided, labels=range(said.classes))
    rows: list[list[int]] = counts.tolist()
    return rows


def spread(shares: NDArray[np.float64]) -> float | None:
    """Return the standard deviation of shares of classes, (C,).

    Of the population, for fairness. None where one is not defined.
    """
    return None if np.isnan(shares).any() else float(shares.std())
