"""Columns, labels and rows of a run's parties, for tests."""

import numpy as np
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.loading import load_party, run_data
from vfl_flower.parties.passive import PassiveParty


def columns_of(cfg: RunConfig, rank: int) -> Tensor:
    """Load one party's columns, without labels."""
    return load_party(cfg, rank, labelled=False).numbers


def all_columns(cfg: RunConfig) -> Tensor:
    """Load the columns of all parties as one."""
    return run_data(cfg).pooled(labelled=False).numbers


def labels_of(cfg: RunConfig) -> Tensor:
    """Load the active party's labels."""
    y = load_party(cfg, 0).y
    assert y is not None
    return y


def next_batch(party: PassiveParty) -> Array:
    """Return the rows of the next step that asks a party."""
    assert party.plan is not None
    return party.plan.batch(party.plan.turn(party.automaton.step))


def rows_for(party: PassiveParty, phase: str, count: int = 20) -> Array:
    """Return rows that a phase may name."""
    declared = party.declared(phase)
    assert declared is not None
    return next_batch(party) if declared.begins else party.data.rows["test"][:count]


def chunk(party: PassiveParty, number: int = 0) -> Array:
    """Return the training rows of one message."""
    size = party.cfg.eval_batch_size
    rows: Array = party.data.rows["train"][number * size : (number + 1) * size]
    return np.ascontiguousarray(rows)
