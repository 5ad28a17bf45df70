"""Build the parties of a run from its configuration."""

from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ConfigError, DataError
from vfl_flower.common.names import party_name
from vfl_flower.config.registry import METHODS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.identity import Identity
from vfl_flower.data.party_data import all_columns, classes_of, columns_of, labels_of
from vfl_flower.data.preprocessing.long_tail import long_tailed
from vfl_flower.data.splits import rows_of
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.runs.tensorboard_log import require_tensorboard
from vfl_flower.training.session import attempt
from vfl_flower.workflows.build_learner import build_learner

UNKNOWN = -1
"""In the place of every label of a party that has none: no class, so that none can be learnt."""


def build_active(
    cfg: RunConfig, folder: Path | None = None, *, labelled: bool = True
) -> ActiveParty:
    """Build the active party of a run, or one without labels; errors as in `build_learner`."""
    if cfg.tensorboard:
        require_tensorboard()
    strategy, _ = METHODS[cfg.method].load()
    x = all_columns(cfg) if METHODS[cfg.method].pools else columns_of(cfg, 0)
    rows = rows_of(cfg, len(x))
    folder = folder and folder / party_name(0)
    layers = cfg.top_layers or strategy.layers
    member = build_learner(cfg, 0, x, folder, top=strategy.top, layers=layers)
    labels = labels_of(cfg) if labelled else torch.full((len(x),), UNKNOWN)
    if len(labels) != len(x):
        raise DataError(f"active: {len(labels)} labels for {len(x)} rows of columns")
    if labelled:
        rows["train"] = _thinned(cfg, rows["train"], labels)
    party: ActiveParty = strategy(member, labels, rows)
    party.task = partial(attempt, party)
    return party


def _thinned(cfg: RunConfig, train: Array, labels: Tensor) -> Array:
    """Return the training rows that `long_tailed` leaves; enough for a batch."""
    if cfg.long_tail == 1:
        return train
    kept = long_tailed(train, labels.numpy(), classes_of(cfg, 0), cfg.long_tail, cfg.seed)
    if cfg.batch_size > len(kept):
        raise DataError(
            f"active: batch-size {cfg.batch_size} is more than the {len(kept)} training rows that "
            f"long-tail {cfg.long_tail:g} leaves"
        )
    return kept


def build_passive(
    cfg: RunConfig, index: int, folder: Path | None = None, identity: Identity | None = None
) -> PassiveParty:
    """Build the passive party with one roster index; see `build_learner` for the errors."""
    _, client = METHODS[cfg.method].load()
    rank = index + 1
    if rank >= cfg.parties:
        raise ConfigError(f"there is no {party_name(rank)} in a run with parties = {cfg.parties}")
    x, folder = columns_of(cfg, rank), folder and folder / party_name(rank)
    member = build_learner(cfg, rank, x, folder, top="mirror" if client.mirrors else "")
    member.identity = identity
    party: PassiveParty = client(member)
    return party
