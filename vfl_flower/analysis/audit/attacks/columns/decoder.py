"""Decoder of the active party, from its view of a party's uploads.

Where masks hide single uploads, it has their sum over all parties.
"""

from collections.abc import Sequence

from vfl_flower.analysis.audit.attack import Adversary
from vfl_flower.analysis.audit.attacks.columns.decoding import Decoding
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.analysis.audit.transcripts.tables import Table
from vfl_flower.parties.party import Party


class ActiveDecoder(Decoding):
    """Regression of a party's columns on its uploads, or on everybody's sum."""

    adversary = Adversary.ACTIVE
    anchor = "He et al. 2019, ACSAC (10.1145/3359789.3359824)"
    idea = "a regression from a party's upload, or the sum, to its columns, of auxiliary rows"

    def upload(self, stage: Stage, rank: int) -> Table:
        """Return the upload, or the decoded sum."""
        return stage.seen(rank)

    def attackers(self, stage: Stage, rank: int) -> Sequence[Party]:
        """Return the active party."""
        return [stage.run.active]
