"""Untargeted poisoning by one party: gradients turned, or columns of other rows.

Two ways to spoil a joint model while keeping to every format. The party turns the sign of all
that it learns from, so that its network climbs the loss; or it trains with its columns shuffled
among the training rows, so that they tell nothing about labels. Test rows have their own columns.
"""

import numpy as np
import torch
from torch import Tensor

from vfl_flower.analysis.audit.attack import Adversary, Attack, Score, Target
from vfl_flower.analysis.audit.attacks.integrity.deviations import (
    DEVIATOR,
    by,
    change_received,
    embedded_only,
    give_own_columns,
    score_on_test,
)
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.parties.passive import PassiveParty


class Poisoning(Attack):
    """Trainings that one party spoils; the lower score counts."""

    target, adversary = Target.INTEGRITY, Adversary.DEVIATING_PASSIVE
    anchor = "Biggio et al. 2012, arXiv:1206.6389; Fang et al. 2020, arXiv:1911.11815"
    idea = "a party turns its gradients' signs, or shuffles its columns; the score that remains"

    def applies(self, stage: Stage) -> str:
        """Refuse runs without uploads, or test rows."""
        return embedded_only(stage)

    def run(self, stage: Stage) -> Score:
        """Return the active party's score beside that of the honest run."""
        ways = {"signs turned": turn_signs, "columns shuffled": shuffle_columns}
        scores = {name: score_on_test(stage.again(by(way)).active) for name, way in ways.items()}
        worst = min(scores, key=lambda name: scores[name][1])
        (metric, value), (_, honest) = scores[worst], score_on_test(stage.run.active)
        return Score(f"{metric} left", value, honest, "honest run", DEVIATOR, worst)


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
