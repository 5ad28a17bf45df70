"""Integer weights of the passive parties' embeddings, with a fixed sum."""

from collections.abc import Sequence

import numpy as np
from torch import Tensor

MOST_PARTIES = 64  # a third of whose even share is still more than one
TOTAL = 256
"""Of all weights: fine enough for accuracies, and |E_k| may still be nearly 2**15 / 256 = 128."""


def weights_of(aggregation: str, accuracies: Tensor) -> list[int]:
    """Return the passive parties' weights by accuracy, or equal ones.

    (K,) accuracies.
    """
    scores = accuracies.tolist()
    return integer_weights([1.0] * len(scores) if aggregation == "average" else scores)


def integer_weights(scores: Sequence[float]) -> list[int]:
    """Divide `TOTAL` in proportion to scores, by largest remainder.

    Nobody counts less than a third of an even share: if one party counted nearly alone, the sum
    would be its embedding, and no mask would hide it.

    Parameters
    ----------
    scores : sequence of float
        Not negative, one for each party. If all are zero, or not finite, all count alike.

    Returns
    -------
    list of int
        They sum to `TOTAL`.
    """
    shares = np.nan_to_num(np.array(scores, np.float64), posinf=0, neginf=0).clip(0)
    if not shares.any():
        shares = np.ones(len(scores))
    shares = np.maximum(shares / shares.sum(), 1 / (2 * len(shares)))
    exact = TOTAL * (shares / shares.sum())
    whole = np.floor(exact).astype(int)
    most = np.argsort(whole - exact, kind="stable")  # the largest remainders first
    whole[most[: TOTAL - whole.sum()]] += 1
    weights: list[int] = whole.tolist()
    return weights
