"""Areas under curves of ranked rows, of many classes at once.

Defined as scikit-learn's `roc_auc_score` and `average_precision_score`, which look at one class
after the other: of ten classes that took a third of a small run.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Area = Callable[[NDArray[np.float64], NDArray[np.float64]], float]
"""Area from the positive and the negative weight at each score, ascending, (S,) each."""


def mean_area(
    area: Area,
    hits: NDArray[np.bool_],
    scores: NDArray[np.float64],
    weight: NDArray[np.float64] | None = None,
) -> float:
    """Compute the mean area under the curves of all classes.

    Parameters
    ----------
    area : callable
        `roc_area` or `precision_area`.
    hits, scores : ndarray
        Whether a row is of a class, and how likely it is called, (N, C) each.
    weight : ndarray, optional
        Weights of rows, (N,), none negative; each class has positive and negative rows with weight.
    """
    weight = np.ones(len(hits)) if weight is None else weight
    return float(
        np.mean([area(*_at_scores(*each, weight)) for each in zip(hits.T, scores.T, strict=True)])
    )


def roc_area(positive: NDArray[np.float64], negative: NDArray[np.float64]) -> float:
    """Share of pairs that are ranked rightly; of equal scores a half."""
    below = negative.cumsum() - negative / 2
    return float(positive @ below / (positive.sum() * negative.sum()))


def precision_area(positive: NDArray[np.float64], negative: NDArray[np.float64]) -> float:
    """Mean precision at the scores of positive rows."""
    found = positive[::-1].cumsum()
    called = found + negative[::-1].cumsum()
    precision = np.divide(found, called, out=np.zeros_like(found), where=called > 0)
    return float(positive[::-1] @ precision / positive.sum())


def _at_scores(
    hits: NDArray[np.bool_], scores: NDArray[np.float64], weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum up positive and negative weight at each score, ascending."""
    _, place = np.unique(scores, return_inverse=True)
    sums = [np.bincount(place, weights=weight * each) for each in (hits, ~hits)]
    positive, negative = (each.astype(np.float64) for each in sums)
    return positive, negative
