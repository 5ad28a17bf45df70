"""Curves of a binary model, thinned, for figures without data."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vfl_flower.learning.metrics.of_classes import reliability
from vfl_flower.learning.metrics.predictions import Predictions

POINTS = 100
"""Points of a curve that are kept, at most."""

_DIGITS = 5


def curves_of(said: Predictions) -> dict[str, dict[str, list[Any]]]:
    """Return the curves of a binary model.

    Parameters
    ----------
    said : Predictions
        (N,) rows.

    Returns
    -------
    dict
        ``roc``: false-positive and true-positive rate; ``precision_recall``: recall and precision;
        ``calibration``: mean probability and share of positive rows of each bin, with its ``rows``.
        Coordinates are ``x`` and ``y``, at most `POINTS` each. Empty unless there are two classes,
        rows of both, and finite outputs.
    """
    # scikit-learn is slow to import
    from sklearn.metrics import precision_recall_curve, roc_curve

    if not said.binary or not said.finite or not said.complete:
        return {}
    false, true, _ = roc_curve(said.hits, said.ranking)
    precision, recall, _ = precision_recall_curve(said.hits, said.ranking)
    predicted, found, rows = reliability(said)
    calibration = _thinned(predicted, found) | {"rows": rows.tolist()}
    return {
        "roc": _thinned(false, true),
        "precision_recall": _thinned(recall[::-1], precision[::-1]),
        "calibration": calibration,
    }


def _thinned(x: ArrayLike, y: ArrayLike) -> dict[str, list[float]]:
    """Keep evenly spread points of a curve, (P,) each, and both ends."""
    points = np.stack([x, y])
    count = points.shape[1]
    kept = np.unique(np.linspace(0, count - 1, min(count, POINTS)).round().astype(int))
    across, up = points[:, kept].round(_DIGITS).tolist()
    return {"x": across, "y": up}
