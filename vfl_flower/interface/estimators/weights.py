"""Sample weights of estimators."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight

from vfl_flower.interface.estimators.features import Cells

_SLACK = 1.001  # rounding of float32


def weights_of(given: Any, cells: Cells) -> NDArray[np.float64] | None:  # noqa: ANN401
    """Check sample weights, (N,); None where rows count alike.

    Raises
    ------
    ValueError
        If they are no such numbers, negative, or all 0.
    """
    if given is None:
        return None
    rows = np.empty((len(next(iter(cells.values()))), 1))
    weights: NDArray[np.float64] = _check_sample_weight(
        given, rows, dtype=np.float64, ensure_non_negative=True
    )
    if not weights.any():
        raise ValueError("sample_weight is 0 in all rows")
    return None if np.ptp(weights) == 0 else weights


def largest_weight(weights: NDArray[np.float64] | None, held_out: float) -> dict[str, float]:
    """Return the option that bounds weights of training rows.

    Parameters
    ----------
    weights : ndarray or None
        (N,).
    held_out : float
        Share of the rows that do not train, whichever they are.
    """
    if weights is None:
        return {}
    train = np.sort(weights)[: len(weights) - round(held_out * len(weights))]
    return {"largest_weight": max(float(_SLACK * weights.max() / train.mean()), 1.0)}
