"""Model completion: a new head on the trained bottom model.

Fu et al. 2022, "Label Inference Attacks Against Vertical Federated Learning", USENIX Security. The
party's bottom model h_k has learnt to tell classes apart. A linear head on h_k(x_k), fitted to the
known labels, completes it to a classifier:

    y'(x_k) = argmax softmax(W h_k(x_k) + b)

The bottom model stays as it is: with ten labels a class, fitting it too would forget it. The same
head on a bottom model that was never trained is the baseline.
"""

import torch

from vfl_flower.analysis.audit.attacks.labels.completion.completion import Completion
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.analysis.audit.transcripts.tables import table_of
from vfl_flower.parties.passive import PassiveParty


class ModelCompletion(Completion):
    """Linear head on the party's trained bottom model."""

    idea = "a linear head on the party's trained bottom model, taught by the known labels"

    def accuracy(self, stage: Stage, party: PassiveParty) -> float:
        """See `Completion`."""
        return completed(stage, party)


def completed(stage: Stage, party: PassiveParty) -> float:
    """Return the accuracy of a head on a party's bottom model."""
    attacked = stage.attacked
    party.net.eval()
    with torch.no_grad():
        embeddings = table_of(party.embed_rows(attacked.rows))  # (n, D)
    scores = attacked.regressed(embeddings, attacked.known, attacked.y)
    return attacked.judge(scores)[0]
