"""Long-tailed subsets of training rows, for studies of rare classes."""

import numpy as np
from numpy.typing import NDArray

from vfl_flower.common.codec import Array


def long_tailed(
    train: Array, labels: NDArray[np.int64], classes: int, factor: float, seed: int
) -> Array:
    """Draw a long-tailed subset of the training rows.

    It keeps min(n_c, n_max factor^(-c / (C - 1))) of the n_c rows of class c.

    n_max is the count of the most frequent class, so that the first class keeps the most and the
    last one `factor` times less, and at least one row.

    Parameters
    ----------
    train : ndarray of int32
        The training rows, (N,).
    labels : ndarray of int64
        Of all rows, each below `classes`.
    classes : int
        C.
    factor : float
        At least 1; 1 keeps all.
    seed : int
        Not negative.

    Returns
    -------
    ndarray of int32
        Those that are kept, in the order of `train`.
    """
    if factor == 1:
        return train
    random = np.random.default_rng([seed, len(train), classes])
    own = labels[train]
    most = np.bincount(own, minlength=classes).max()
    kept = np.zeros(len(train), bool)
    for c in range(classes):
        places = random.permutation(np.flatnonzero(own == c))
        kept[places[: max(1, round(most * factor ** (-c / (classes - 1))))]] = True
    return train[kept]
