"""Free rider: a party that sends zeros in the place of embeddings."""

from torch import Tensor

from vfl_flower.analysis.audit.attack import Adversary, Attack, Score, Target
from vfl_flower.analysis.audit.attacks.integrity.deviations import (
    DEVIATOR,
    by,
    embedded_only,
    score_on_test,
)
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.parties.passive import PassiveParty


class FreeRider(Attack):
    """Training and evaluation with the uploads of one party all zero."""

    target, adversary = Target.INTEGRITY, Adversary.DEVIATING_PASSIVE
    anchor = "Lin et al. 2019, arXiv:1911.12560"
    idea = "a party sends zeros for embeddings; the score that remains on test rows"

    def applies(self, stage: Stage) -> str:
        """Refuse runs without uploads, or test rows."""
        return embedded_only(stage)

    def run(self, stage: Stage) -> Score:
        """Return the active party's score beside that of the honest run."""
        made = stage.again(by(_send_zeros))
        (metric, value), (_, honest) = score_on_test(made.active), score_on_test(stage.run.active)
        return Score(f"{metric} left", value, honest, "honest run", DEVIATOR)


def _send_zeros(party: PassiveParty) -> None:
    embedding = party.embedding

    def zeros(columns: Tensor) -> Tensor:
        return embedding(columns) * 0

    vars(party)["embedding"] = zeros
