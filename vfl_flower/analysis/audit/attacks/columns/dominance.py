"""Dominance: one party's upload that all but is the masked sum.

A party whose embeddings are much longer than the others' is hidden by nothing: the sum is its
upload, but for little. Which party that is, and how far, can be measured only by somebody who has
all uploads, as this audit; the active party has the sum.
"""

import numpy as np

from vfl_flower.analysis.audit.attack import Adversary, Attack, Score, Target
from vfl_flower.analysis.audit.attacks.columns.decoding import NOTHING
from vfl_flower.analysis.audit.attacks.columns.recovery import Decoder
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.common.names import party_name


class Dominance(Attack):
    """Regression of one party's upload on the masked sum."""

    target, adversary = Target.COLUMNS, Adversary.ACTIVE
    anchor = "Pasquini et al. 2022, arXiv:2111.07380 (a sum that is one party's)"
    idea = "a regression from the sum to one party's upload; and that party's share of the sum"

    def applies(self, stage: Stage) -> str:
        """Refuse runs whose uploads are seen one by one."""
        if not stage.uploads:
            return NOTHING
        return "" if stage.masked else "no sum hides uploads; each is seen by itself"

    def run(self, stage: Stage) -> Score:
        """Return R² of the upload that the sum tells most of."""
        decoder, truths = Decoder(stage.attacked.auxiliary), [*map(stage.truth, stage.ranks())]
        found = [(decoder.success(stage.summed, each), k) for k, each in enumerate(truths, 1)]
        value, rank = max(found)
        parts = [each.var(0).sum() for each in truths]
        share = f"{parts[rank - 1] / np.sum(parts):.0%} of the uploads' variance"
        even = 1 / len(truths)
        return Score("R² of an upload", value, even, "even share", party_name(rank), share)
