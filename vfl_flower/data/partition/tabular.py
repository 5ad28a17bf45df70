"""Partitions of columns over parties; the first share is the active party's."""

import numpy as np

from vfl_flower.common.errors import DataError
from vfl_flower.data.columns import Features
from vfl_flower.data.partition.correlation import correlated
from vfl_flower.data.partition.shares import Columns, Share

TRIES = 1000


def columns(features: Features, parties: int, argument: None, seed: int) -> list[Share]:
    """Split columns, or pixels in reading order, into equal contiguous runs.

    Raises
    ------
    DataError
        If there are fewer columns than parties.
    """
    return list(np.array_split(_enough(features, parties), parties))


def overlapping(features: Features, parties: int, size: int, seed: int) -> list[Share]:
    """Give each party a window of `size` columns or pixels; windows overlap.

    A pixel has all its channels.

    The windows' starts are evenly spaced, from the first pixel to the last window's.

    Raises
    ------
    DataError
        If a window is larger than a row, or together they leave something out.
    """
    channels = features.shape[1] if features.ndim == 4 else 1
    pixels = features[0].size // channels
    if not pixels / parties <= size <= pixels:
        raise DataError(
            f"{parties} windows of {size} do not cover {pixels} pixels or columns; "
            f"take a size from {-(-pixels // parties)} to {pixels}"
        )
    starts = np.linspace(0, pixels - size, parties).round().astype(np.intp)
    planes = np.arange(channels)[:, None] * pixels
    return [(planes + np.arange(start, start + size)).ravel() for start in starts]


def listed(features: Features, parties: int, lists: list[list[int]], seed: int) -> list[Share]:
    """Give each party the columns that are listed for it.

    Raises
    ------
    DataError
        If there is not one list for each party, or a column is not there.
    """
    if len(lists) != parties:
        raise DataError(f"listed names the columns of {len(lists)} parties, not {parties}")
    width = features[0].size
    for rank, each in enumerate(lists):
        if max(each) >= width:
            raise DataError(f"list {rank + 1} names column {max(each)}; the last is {width - 1}")
    return [np.array(each) for each in lists]


def importance(features: Features, parties: int, alpha: float, seed: int) -> list[Share]:
    """Deal each column at random, with party probabilities drawn from Dirichlet(alpha).

    VertiBench (Wu et al. 2024, arXiv:2307.02040): a small alpha makes few parties hold nearly all
    that matters, a large one makes them equal. A deal that leaves a party without columns is drawn
    again.

    Raises
    ------
    DataError
        If there are fewer columns than parties, or no deal gives everybody one.
    """
    every = _enough(features, parties)
    random = np.random.default_rng([seed, parties])
    for _ in range(TRIES):
        owners = random.choice(parties, len(every), p=random.dirichlet([alpha] * parties))
        if len(np.unique(owners)) == parties:
            return [every[owners == rank] for rank in range(parties)]
    raise DataError(f"importance:{alpha:g} leaves a party without columns; take a larger alpha")


def correlation(features: Features, parties: int, beta: float, seed: int) -> list[Share]:
    """Split columns evenly by their correlation; see `correlated`.

    Raises
    ------
    DataError
        If there are fewer than two columns for each party, or one party.
    """
    if parties < 2:
        raise DataError("correlation deals columns to two parties or more, not one")
    width = len(_enough(features, parties))
    if width < 2 * parties:
        raise DataError(f"correlation needs two columns for each of {parties} parties, not {width}")
    return list(correlated(features.reshape(-1, width), parties, beta, seed))


def _enough(features: Features, least: int) -> Columns:
    width = features[0].size
    if width < least:
        raise DataError(f"{width} columns cannot be dealt to {least} parties")
    return np.arange(width)
