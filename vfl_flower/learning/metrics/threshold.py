"""Threshold of a binary model, chosen on validation rows."""

import math

import numpy as np
from numpy.typing import NDArray

from vfl_flower.config.evaluation.threshold import ThresholdRule
from vfl_flower.learning.metrics.predictions import Predictions

NO_ALARM = math.nextafter(1.0, 2.0)
"""Threshold that no probability reaches."""

_ROUNDING = 1e-9


def chosen_threshold(rule: ThresholdRule, said: Predictions) -> float | None:
    """Choose the probability from which on the positive class is predicted.

    Parameters
    ----------
    rule : ThresholdRule
        A chosen one.
    said : Predictions
        Of validation rows, of two classes.

    Returns
    -------
    float or None
        Half-way between the probabilities of two rows; of equally good ones the highest. None if
        the rows cannot say, for there is no positive one, or a prediction is not finite.
    """
    # scikit-learn is slow to import
    from sklearn.metrics import precision_recall_curve

    if not said.finite or not said.hits.any():
        return None
    precision, recall, at = precision_recall_curve(said.hits, said.likelihood)
    precision, recall = precision[:-1], recall[:-1]  # the last point has no threshold
    if rule.name == "recall":
        place = int(np.flatnonzero(recall >= rule.values[0] - _ROUNDING)[-1])
    elif rule.name == "f1":
        sums = np.maximum(precision + recall, _ROUNDING)
        place = _last_best(2 * precision * recall / sums)
    else:
        costs = _costs(rule, said, recall, at)
        place = _last_best(-costs)
        if costs[place] >= rule.values[0] * said.hits.sum() - _ROUNDING:
            return NO_ALARM
    below = at[place - 1] if place else 0.0
    return float((at[place] + below) / 2)


def _costs(
    rule: ThresholdRule, said: Predictions, recall: NDArray[np.float64], at: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Compute the cost of all errors at each threshold, (T,)."""
    missed_cost, alarm_cost = rule.values
    positives = said.hits.sum()
    alarms = len(said.hits) - np.searchsorted(np.sort(said.likelihood), at)
    found = recall * positives
    costs: NDArray[np.float64] = missed_cost * (positives - found) + alarm_cost * (alarms - found)
    return costs


def _last_best(scores: NDArray[np.float64]) -> int:
    """Return the last place of the highest score."""
    return int(np.flatnonzero(scores >= scores.max() - _ROUNDING)[-1])
