"""Which passive parties have which rows.

A row of the active party is of use where at least so many passive parties have it (`usable`). Of a
named data set, whose rows all parties have, ``row-presence`` draws the presence; of own tables the
alignment knows it.
"""

import numpy as np
from numpy.typing import NDArray

from vfl_flower.common.names import party_log
from vfl_flower.config.run_config import RunConfig

Presence = NDArray[np.bool_]
"""(N, K): whether each passive party has each row."""


def drawn_presence(cfg: RunConfig, total: int) -> Presence | None:
    """Draw the simulated presence of rows by the seed, if any."""
    if cfg.row_presence == 1:
        return None
    random = np.random.default_rng([cfg.seed, total, 4])
    return random.random((total, cfg.parties - 1)) < cfg.row_presence


def usable(cfg: RunConfig, presence: Presence) -> NDArray[np.bool_]:
    """Mark the rows, (N,), that enough passive parties have."""
    least = cfg.least_present if cfg.uses_missing else len(cfg.present)
    kept: NDArray[np.bool_] = counts(cfg, presence) >= least
    return kept


def counts(cfg: RunConfig, presence: Presence) -> NDArray[np.int64]:
    """Count the present parties that have each row, (N,)."""
    there: NDArray[np.int64] = presence[:, [rank - 1 for rank in cfg.present]].sum(1)
    return there


def tell_gain(cfg: RunConfig, presence: Presence) -> None:
    """Log how many rows a run that leaves rows out could gain."""
    if cfg.uses_missing or not cfg.spec.allows_missing:
        return
    having = counts(cfg, presence)
    gained = ((having >= cfg.least_present) & (having < len(cfg.present))).sum()
    if gained:
        party_log(0).info(
            "%d rows are left out, which some party lacks and at least %d have; "
            "missing-parties = use would gain them",
            gained,
            cfg.least_present,
        )
