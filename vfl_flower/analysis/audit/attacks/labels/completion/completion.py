"""Completion of a party's trained bottom model to a classifier."""

from abc import abstractmethod

from vfl_flower.analysis.audit.attack import Adversary, Attack, Score, Target
from vfl_flower.analysis.audit.attacks.labels.inference import classes_only
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.common.names import party_name
from vfl_flower.parties.passive import PassiveParty


class Completion(Attack):
    """Label inference by a classifier on a bottom model.

    The baseline is the same completion of a bottom model that was never trained.
    """

    target, adversary = Target.LABELS, Adversary.PASSIVE
    anchor = "Fu et al. 2022, USENIX Security"

    @abstractmethod
    def accuracy(self, stage: Stage, party: PassiveParty) -> float:
        """Return the accuracy of a party's completed model."""

    def applies(self, stage: Stage) -> str:
        """Refuse labels that are no classes, and parties without networks."""
        return classes_only(stage) or stage.lacks_networks

    def run(self, stage: Stage) -> Score:
        """Return the accuracy of the best party's completed model."""
        trained = max((self.accuracy(stage, each), each.rank) for each in stage.run.passive)
        blank = max(self.accuracy(stage, stage.untrained(k)) for k in stage.ranks())
        return Score("accuracy", trained[0], blank, "untrained model", party_name(trained[1]))
