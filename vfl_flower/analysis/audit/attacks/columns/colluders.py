"""Collusion of the active party and all passive parties but one.

They subtract their own uploads from the masked sum. The one that is left is known exactly: no
secure aggregation can hide it.
"""

from collections.abc import Sequence

from vfl_flower.analysis.audit.attack import Adversary
from vfl_flower.analysis.audit.attacks.columns.decoding import Decoding
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.analysis.audit.transcripts.tables import Table
from vfl_flower.parties.party import Party


class Colluders(Decoding):
    """Regression of the last party's columns on its upload."""

    adversary = Adversary.COLLUDING
    anchor = "Bonawitz et al. 2017, 10.1145/3133956.3133982 (its threat model)"
    idea = "colluders subtract their uploads from the sum, and decode the one that is left"

    def upload(self, stage: Stage, rank: int) -> Table:
        """Return the sum less the colluders' uploads, or the upload itself."""
        if not stage.masked:
            return stage.seen(rank)
        left = stage.summed.copy()
        for colluder in stage.ranks():
            if colluder != rank:
                left -= stage.truth(colluder)
        return left

    def attackers(self, stage: Stage, rank: int) -> Sequence[Party]:
        """Return all parties but one."""
        colluding = [each for each in stage.run.passive if each.rank != rank]
        return [stage.run.active, *colluding]
