"""Malicious optimizer: a party that learns faster, to complete its model better.

Fu et al. 2022, USENIX Security, "active label inference attack". The larger steps of its bottom
model make the top model rely on that party, and its embeddings tell more of the labels. There the
factor of a step follows the gradients' signs; here it is fixed.
"""

from vfl_flower.analysis.audit.attack import Adversary, Attack, Score, Target
from vfl_flower.analysis.audit.attacks.integrity.deviations import DEVIATOR, RANK, by
from vfl_flower.analysis.audit.attacks.labels.completion import completed
from vfl_flower.analysis.audit.attacks.labels.inference import classes_only
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.parties.passive import PassiveParty

FACTOR = 5.0
"""Of the party's learning rate."""


class MaliciousOptimizer(Attack):
    """Model completion by a party that scales its own steps."""

    target, adversary = Target.LABELS, Adversary.DEVIATING_PASSIVE
    anchor = "Fu et al. 2022, USENIX Security"
    idea = "model completion after a training in which the party's own steps are larger"

    def applies(self, stage: Stage) -> str:
        """Refuse labels that are no classes."""
        return classes_only(stage)

    def run(self, stage: Stage) -> Score:
        """Return the accuracy beside that of the same party's honest completion."""
        made = stage.again(by(_hurry))
        honest = completed(stage, stage.run.passive[RANK - 1])
        value = completed(stage, made.passive[RANK - 1])
        return Score("accuracy", value, honest, "honest steps", DEVIATOR)


def _hurry(party: PassiveParty) -> None:
    for group in party.optimizer.optimizer.param_groups:
        group["initial_lr"] *= FACTOR
