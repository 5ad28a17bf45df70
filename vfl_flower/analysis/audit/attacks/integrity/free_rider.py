"""Free rider: a party that sends zeros in the place of embeddings."""

from torch import Tensor

from vfl_flower.analysis.audit.attacks.integrity.spoiling import Spoiling
from vfl_flower.parties.passive import PassiveParty


def send_zeros(party: PassiveParty) -> None:
    """Let a party embed all rows as zeros."""
    embedding = party.embedding

    def zeros(columns: Tensor) -> Tensor:
        return embedding(columns) * 0

    vars(party)["embedding"] = zeros


class FreeRider(Spoiling):
    """Training and evaluation with the uploads of one party all zero."""

    anchor = "Lin et al. 2019, arXiv:1911.12560"
    idea = "a party sends zeros for embeddings; the score that remains on test rows"
    ways = {"": send_zeros}  # noqa: RUF012  see `Spoiling`
