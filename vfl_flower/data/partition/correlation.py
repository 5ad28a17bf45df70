"""Partition of columns by their correlation within and between parties.

VertiBench (Wu et al. 2024, arXiv:2307.02040) measures a partition of columns X_1..X_K by

    Pcor(X_i, X_j) = std(singular values of Cor(X_i, X_j)) / sqrt(d),  d = min(m_i, m_j)
    Icor           = mean over i != j of Pcor(X_i, X_j) - Pcor(X_i, X_i)

with Spearman's correlation, and deals columns so that Icor lies a share beta of the way from the
least to the greatest value that it can take. VertiBench searches with a genetic algorithm; here it
is exchanges of two columns between two parties, taken if they help.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from vfl_flower.data.columns import Features

Matrix = NDArray[np.float64]
Partition = list[NDArray[np.intp]]

ROWS = 2000  # for the correlations
EXCHANGES = 300  # tried in each of the three searches


def spearman(table: Features) -> Matrix:
    """Compute Spearman's correlation of all columns: (n, m) -> (m, m).

    It is 0 where a column does not vary.

    A gap, NaN, has the mean rank of its column. Categories rank in the order of their codes, which
    says little where they have none.
    """
    ranks = rankdata(table[:ROWS], axis=0, nan_policy="omit")
    there = np.maximum((~np.isnan(ranks)).sum(axis=0), 1)
    centred = np.nan_to_num(ranks - np.nansum(ranks, axis=0) / there)
    norms = np.linalg.norm(centred, axis=0)
    unit = centred / np.where(norms > 0, norms, 1)
    result: Matrix = unit.T @ unit
    return result


def pcor(cor: Matrix) -> float:
    """Compute the correlation of two parties' columns from their (m_i, m_j) block."""
    d = min(cor.shape)
    if d < 2:
        return 0.0
    return float(np.linalg.svd(cor, compute_uv=False).std(ddof=1) / np.sqrt(d))


def icor(cor: Matrix, partition: Partition) -> float:
    """Return how much more columns are correlated between parties than within them."""
    table = np.array([[pcor(cor[np.ix_(a, b)]) for b in partition] for a in partition])
    between = table.sum() - np.trace(table)
    parties = len(partition)
    return float(between / (parties * (parties - 1)) - np.trace(table) / parties)


def correlated(table: Features, parties: int, beta: float, seed: int) -> Partition:
    """Split columns so that Icor lies at `beta` between its extremes.

    Parameters
    ----------
    table : ndarray of float32
        (N, m); the first 2,000 rows count.
    parties : int
        Shares are as equal as possible.
    beta : float
        0 keeps correlated columns together, 1 spreads them.
    seed : int
        Of the search.

    Returns
    -------
    list of ndarray
        Columns by party, each sorted.
    """
    cor, random = spearman(table), np.random.default_rng([seed, parties])
    start: Partition = np.array_split(random.permutation(table.shape[1]), parties)
    least = _search(cor, start, lambda value: value, random)
    most = _search(cor, start, lambda value: -value, random)
    goal = (1 - beta) * icor(cor, least) + beta * icor(cor, most)
    nearer = least if beta < 1 / 2 else most
    partition = _search(cor, nearer, lambda value: abs(value - goal), random)
    return [np.sort(share) for share in partition]


def _search(
    cor: Matrix, partition: Partition, cost: Callable[[float], float], random: np.random.Generator
) -> Partition:
    """Exchange columns between parties while that lowers the cost of Icor."""
    best = cost(icor(cor, partition))
    for _ in range(EXCHANGES):
        i, j = random.choice(len(partition), 2, replace=False)
        tried = [share.copy() for share in partition]
        a, b = random.integers(len(tried[i])), random.integers(len(tried[j]))
        tried[i][a], tried[j][b] = partition[j][b], partition[i][a]
        value = cost(icor(cor, tried))
        if value < best:
            partition, best = tried, value
    return partition
