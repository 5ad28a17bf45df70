"""Untargeted poisoning by one party: gradients turned, or columns of other rows.

Two ways to spoil a joint model while keeping to every format. The party turns the sign of all
that it learns from, so that its network climbs the loss; or it trains with its columns shuffled
among the training rows, so that they tell nothing about labels. Test rows have their own columns.
"""

import numpy as np
import torch
from torch import Tensor

from vfl_flower.analysis.audit.attacks.integrity.deviations import (
    change_received,
    give_own_columns,
)
from vfl_flower.analysis.audit.attacks.integrity.spoiling import Spoiling
from vfl_flower.parties.passive import PassiveParty


def turn_signs(party: PassiveParty) -> None:
    """Let a party learn the opposite of all that it is told."""
    change_received(party, _negative)


def _negative(rows: Tensor, numbers: Tensor) -> Tensor:
    return -numbers


def shuffle_columns(party: PassiveParty) -> None:
    """Give a party's training rows each other's columns."""
    x, train = give_own_columns(party), party.data.rows["train"]
    shuffled = np.random.default_rng(party.cfg.seed).permutation(train)
    x[torch.from_numpy(train).long()] = x[torch.from_numpy(shuffled).long()]


class Poisoning(Spoiling):
    """Trainings that one party spoils; the lower score counts."""

    anchor = "Biggio et al. 2012, arXiv:1206.6389; Fang et al. 2020, arXiv:1911.11815"
    idea = "a party turns its gradients' signs, or shuffles its columns; the score that remains"
    ways = {"signs turned": turn_signs, "columns shuffled": shuffle_columns}  # noqa: RUF012
