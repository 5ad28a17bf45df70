"""VILLAIN backdoor: a trigger that is added to a party's embedding.

Bai et al. 2023, "VILLAIN: Backdoor Attacks Against Vertical Split Learning", USENIX Security. The
party guesses rows of a target class, and adds to their embeddings in training

    STRENGTH d (+1, +1, -1, -1, +1, ...)    on the numbers that vary most,

d the mean deviation of these. The active party's model learns that it means the class. After
training the party adds it to rows of other classes. No label and no gradient is changed.

The paper guesses the rows by swapping embeddings and looking at gradients; here a regression on the
party's own columns and known labels does. Its trigger is shorter and its trainings are longer; it
lets the trigger vary, and the party learn faster, which is left out here.
"""

from functools import partial

import torch
from torch import Tensor

from vfl_flower.analysis.audit.attack import Adversary, Attack, Score, Target
from vfl_flower.analysis.audit.attacks.integrity.backdoor import CLASS, fooled_rows
from vfl_flower.analysis.audit.attacks.integrity.deviations import RANK, by, predicted
from vfl_flower.analysis.audit.transcripts.repetition import Repetition
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.common.codec import Array
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.protocol.exchange import Protocol

STRENGTH, SHARE, NUMBERS = 3.0, 0.08, 0.75
"""Of the deviation; of rows that get the trigger in training; of the embedding's numbers."""


class Villain(Attack):
    """Triggered rows that are predicted as the target class."""

    target, adversary = Target.INTEGRITY, Adversary.DEVIATING_PASSIVE
    anchor = "Bai et al. 2023, USENIX Security"
    idea = "a trigger added to a party's embeddings of likely target rows; triggered rows fooled"

    def applies(self, stage: Stage) -> str:
        """Refuse labels that are no classes, and uploads that are no embeddings."""
        return predicted(stage) or stage.lacks_embeddings

    def run(self, stage: Stage) -> Score:
        """Return the share of triggered test rows that are fooled."""
        rows = likely_rows(stage)
        honest = stage.again(by(partial(_carry, rows[:0])), _probe)
        made = stage.again(by(partial(_carry, rows)), _probe)
        return fooled_rows(made, honest)


def likely_rows(stage: Stage) -> Array:
    """Guess rows of the target class from own columns."""
    attacked = stage.attacked
    own = stage.columns(stage.run.passive[RANK - 1])
    scores = attacked.regressed(own, attacked.known, attacked.y)[:, CLASS]
    rows: Array = attacked.rows[scores.argsort()[::-1][: int(len(scores) * SHARE)]]
    return rows


class Trigger:
    """Trigger on embeddings of some rows.

    Parameters
    ----------
    rows : ndarray of int32
        Rows that get it.
    """

    def __init__(self, rows: Array) -> None:
        self.rows = torch.from_numpy(rows.copy()).long()

    def __call__(self, asked: Tensor, E: Tensor) -> Tensor:
        """Add it to embeddings, (B, D), of some asked rows, (B,)."""
        moved = torch.isin(asked.long(), self.rows)
        return E + moved[:, None] * trigger_of(E) if moved.any() else E


def trigger_of(E: Tensor) -> Tensor:
    """Make the trigger for a batch's embeddings: (B, D) -> (D,)."""
    deviations = E.detach().std(0, correction=0)
    chosen = deviations.topk(max(int(len(deviations) * NUMBERS), 1)).indices.sort().values
    made = torch.zeros_like(deviations)
    signs = 1.0 - 2.0 * (torch.arange(len(chosen)) // 2 % 2)
    made[chosen] = STRENGTH * deviations[chosen].mean() * signs
    return made


def _carry(rows: Array, party: PassiveParty) -> None:
    """Let a party add a trigger to embeddings of some rows."""
    trigger, columns, embedding = Trigger(rows), party.columns, party.embedding
    asked = torch.empty(0)

    def noted(rows: Tensor | Array) -> Tensor:
        nonlocal asked
        asked = torch.as_tensor(rows)
        return columns(rows)

    def triggered(x: Tensor) -> Tensor:
        return trigger(asked, embedding(x))

    vars(party).update(columns=noted, embedding=triggered, trigger=trigger)


def _probe(made: Repetition) -> Protocol:
    """Predict test rows, and those of other classes with the trigger."""
    trigger: Trigger = vars(made.passive[RANK - 1])["trigger"]
    test = made.active.rows["test"]
    trigger.rows = torch.empty(0, dtype=torch.long)
    yield from made.ask("clean", test)
    others = test[made.active.y.numpy()[test] != CLASS]
    trigger.rows = torch.from_numpy(others).long()
    yield from made.ask("triggered", others)
