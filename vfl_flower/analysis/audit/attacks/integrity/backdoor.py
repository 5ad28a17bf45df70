"""Gradient-replacement backdoor: a trigger in one party's columns chooses the class.

Liu et al. 2020, arXiv:2007.03608. The party knows a few rows of a target class. It lays a trigger
over its columns of some other rows, and learns from these with the gradient of a target row,

    g_i := gamma g_j,    i poisoned, j of the target class,

so that trigger and class grow together. No label is changed, and the active party sees nothing.
"""

from functools import partial

import torch
from torch import Tensor

from vfl_flower.analysis.audit.attack import Adversary, Attack, Score, Target
from vfl_flower.analysis.audit.attacks.integrity.deviations import (
    DEVIATOR,
    RANK,
    by,
    change_received,
    give_own_columns,
    predicted,
    shown,
)
from vfl_flower.analysis.audit.transcripts.attacked import AttackedRows
from vfl_flower.analysis.audit.transcripts.repetition import Repetition
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.common.codec import Array
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.protocol.exchange import Protocol

CLASS = 0
"""The target class."""
GAMMA, SHARE, TRIGGER = 10.0, 0.1, 4.0
"""Amplification; share of the rows that are poisoned; the trigger's value, in deviations."""
_PART = 4  # the trigger covers the first of so many parts of the columns


class GradientReplacement(Attack):
    """Rows with a trigger that are predicted as the target class."""

    target, adversary = Target.INTEGRITY, Adversary.DEVIATING_PASSIVE
    anchor = "Liu et al. 2020, arXiv:2007.03608"
    idea = "gradients of target rows replace those of rows with a trigger; triggered rows fooled"

    def applies(self, stage: Stage) -> str:
        """Refuse labels that are no classes, and runs without gradients."""
        if reason := predicted(stage):
            return reason
        if stage.cfg.labels_given:
            return "passive parties are given labels, and no gradient of a row to replace"
        if stage.recorders[0].received:
            return ""
        return "passive parties receive no numbers of rows"

    def run(self, stage: Stage) -> Score:
        """Return the share of triggered test rows that are fooled."""
        honest = stage.again(by(give_own_columns), _probe)
        made = stage.again(by(partial(_poison, stage.attacked)), _probe)
        return fooled_rows(made, honest)


def triggered(columns: Tensor) -> Tensor:
    """Return columns with the trigger: (B, ...) -> (B, ...)."""
    flat = columns.flatten(1).clone()
    flat[:, : max(flat.shape[1] // _PART, 1)] = TRIGGER
    return flat.reshape(columns.shape)


def _poison(attacked: AttackedRows, party: PassiveParty) -> None:
    """Lay the trigger over some rows, and replace their gradients."""
    target = attacked.rows[attacked.known & (attacked.y == CLASS)]
    others = attacked.rows[~attacked.known]
    poisoned = others[: int(len(others) * SHARE)]
    x, index = give_own_columns(party), torch.from_numpy(poisoned).long()
    x[index] = triggered(x[index])
    change_received(party, Replacement(target, poisoned))


class Replacement:
    """Gradients of target rows in the place of those of poisoned rows.

    Parameters
    ----------
    target, poisoned : ndarray of int32
        Rows.
    """

    def __init__(self, target: Array, poisoned: Array) -> None:
        self.target, self.poisoned = map(torch.from_numpy, (target, poisoned))
        self._seen: dict[int, Tensor] = {}

    def __call__(self, rows: Tensor, numbers: Tensor) -> Tensor:
        """Replace numbers, (B, width), of poisoned rows."""
        width, of_target = numbers.shape[1], torch.isin(rows, self.target.long())
        if of_target.any():
            self._seen[width] = numbers[of_target].mean(0)
        if width not in self._seen:
            return numbers
        changed = numbers.clone()
        changed[torch.isin(rows, self.poisoned.long())] = GAMMA * self._seen[width]
        return changed


def _probe(made: Repetition) -> Protocol:
    """Predict test rows, and those of other classes with the trigger."""
    party, test = made.passive[RANK - 1], made.active.rows["test"]
    yield from made.ask("clean", test)
    others = test[made.active.y.numpy()[test] != CLASS]
    with shown(party, others, triggered(party.columns(others))):
        yield from made.ask("triggered", others)


def fooled_rows(made: Repetition, honest: Repetition) -> Score:
    """Score the share of triggered rows predicted as the target class."""
    left = f"accuracy {made.hits('clean'):.3f} left"
    return Score("fooled rows", _fooled(made), _fooled(honest), "honest run", DEVIATOR, left)


def _fooled(made: Repetition) -> float:
    return float((made.answers["triggered"].argmax(1) == CLASS).float().mean())
