"""Mini-batches and participating parties of each step."""

from collections.abc import Sequence

import numpy as np

from vfl_flower.common.codec import Array
from vfl_flower.config.run_config import RunConfig


def batches(seed: int, epoch: int, rows: Array, size: int) -> list[Array]:
    """Shuffle rows into mini-batches, a pure function of its arguments.

    Parameters
    ----------
    seed, epoch : int
        Not negative.
    rows : ndarray of int32
        The training rows, (N,).
    size : int
        Rows per batch; the last batch may be smaller.

    Returns
    -------
    list of ndarray
        Each (B,) int32; every row stands in exactly one.
    """
    order = np.random.default_rng([seed, epoch]).permutation(rows)
    return [order[start : start + size] for start in range(0, len(order), size)]


def batches_of(cfg: RunConfig, epoch: int, rows: Array) -> list[Array]:
    """Return the batches of an epoch: all rows, or `batches`."""
    return [rows] if cfg.spec.full_batch else batches(cfg.seed, epoch, rows, cfg.batch_size)


def turn(seed: int, step: int, parties: int) -> int:
    """Return the passive party whose turn a step is.

    It is a pure function of its arguments.

    Parameters
    ----------
    seed, step : int
        Not negative.
    parties : int
        K.

    Returns
    -------
    int
        A rank. Every K steps, from the first on, have each once.
    """
    turns, position = divmod(step, parties)
    return int(np.random.default_rng([seed, turns, 1]).permutation(parties)[position]) + 1


def lag(seed: int, step: int, rank: int, most: int) -> int:
    """Draw how many steps a passive party may be behind.

    It is a pure function of its arguments.

    Parameters
    ----------
    seed, step : int
        Not negative; the step that comes before.
    rank : int
        The party's.
    most : int
        The bound.

    Returns
    -------
    int
        From 0 to `most`, each as likely.
    """
    return int(np.random.default_rng([seed, step, rank, 3]).integers(most + 1))


def drawn(cfg: RunConfig, step: int) -> Sequence[int]:
    """Draw the passive parties that a round asks.

    It is a pure function of the seed and its arguments.

    Parameters
    ----------
    cfg : RunConfig
        Its seed, and the share of parties, of which at least one is asked.
    step : int
        The round, from 0.

    Returns
    -------
    sequence of int
        Ranks, in order.
    """
    K = cfg.parties - 1
    share = cfg.options.share_asked
    if share == 1:
        return range(1, K + 1)
    order = np.random.default_rng([cfg.seed, step, 2]).permutation(K)
    return sorted((order[: max(round(share * K), 1)] + 1).tolist())


def asked(cfg: RunConfig, step: int) -> Sequence[int]:
    """Return the passive parties that a training step asks.

    It is a pure function of its arguments.

    Parameters
    ----------
    cfg : RunConfig
        Says whether they take turns, or a share of them is drawn.
    step : int
        From 0.

    Returns
    -------
    sequence of int
        Ranks, in order.
    """
    if cfg.options.in_turns:
        return [turn(cfg.seed, step, cfg.parties - 1)]
    return drawn(cfg, step)
