"""Model completion: a new head on the trained bottom model.

Fu et al. 2022, "Label Inference Attacks Against Vertical Federated Learning", USENIX Security. The
party's bottom model h_k has learnt to tell classes apart. A linear head on h_k(x_k), fitted to the
known labels, completes it to a classifier:

    y'(x_k) = argmax softmax(W h_k(x_k) + b)

The bottom model stays as it is: with ten labels a class, fitting it too would forget it. The same
head on a bottom model that was never trained is the baseline.
"""

import torch

from vfl_flower.analysis.audit.attack import Adversary, Attack, Score, Target
from vfl_flower.analysis.audit.attacks.labels.inference import classes_only
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.analysis.audit.transcripts.tables import Table, table_of
from vfl_flower.common.names import party_name
from vfl_flower.parties.passive import PassiveParty


class ModelCompletion(Attack):
    """Linear head on the party's trained bottom model."""

    target, adversary = Target.LABELS, Adversary.PASSIVE
    anchor = "Fu et al. 2022, USENIX Security"
    idea = "a linear head on the party's trained bottom model, taught by the known labels"

    def applies(self, stage: Stage) -> str:
        """Refuse labels that are no classes."""
        return classes_only(stage)

    def run(self, stage: Stage) -> Score:
        """Return the accuracy of the best party's completed model."""
        trained = max((completed(stage, each), each.rank) for each in stage.run.passive)
        blank = max(completed(stage, stage.untrained(k)) for k in stage.ranks())
        return Score("accuracy", trained[0], blank, "untrained model", party_name(trained[1]))


def completed(stage: Stage, party: PassiveParty) -> float:
    """Return the accuracy of a head on a party's bottom model."""
    attacked = stage.attacked
    scores = attacked.regressed(embeddings(stage, party), attacked.known, attacked.y)
    return attacked.judge(scores)[0]


def embeddings(stage: Stage, party: PassiveParty) -> Table:
    """Run a party's bottom model on attacked rows: (n, D)."""
    party.net.eval()
    with torch.no_grad():
        return table_of(party.embed_rows(stage.attacked.rows))
