"""Dominance: one party's upload that all but is the masked sum.

A party whose embeddings are much longer than the others' is hidden by nothing: the sum is its
upload, but for little. The figure is R² of the upload, told as the sum times one number,

    R² = <E_k, S>^2 / (|E_k|^2 |S|^2),      S = sum_j E_j, columns of both centred.

It is the party's share of the variance where uploads are uncorrelated, 1/K where they are alike in
size besides. A regression with a weight for each number is no measure of it: that tells any party's
upload from a sum of more numbers than all parties have columns, or of embeddings that have learnt
the same labels. `decoder` has that. Which party dominates, and how far, can be measured only by
somebody who has all uploads, as this audit; the active party has the sum.
"""

from collections.abc import Sequence

import numpy as np

from vfl_flower.analysis.audit.attack import Adversary, Attack, Score, Target
from vfl_flower.analysis.audit.transcripts.stage import NO_SUM, Stage
from vfl_flower.analysis.audit.transcripts.tables import Table
from vfl_flower.common.names import party_name

METRIC = "R² of an upload"
_LEAST = 1e-12  # of a squared norm


class Dominance(Attack):
    """The masked sum in the place of one party's upload."""

    target, adversary = Target.COLUMNS, Adversary.ACTIVE
    anchor = "Pasquini et al. 2022, arXiv:2111.07380 (a sum that is one party's)"
    idea = "the sum, times one number, as one party's upload; and that party's share of the sum"

    def applies(self, stage: Stage) -> str:
        """Refuse runs whose uploads are seen one by one."""
        return stage.lacks_uploads or ("" if stage.masked else NO_SUM)

    def run(self, stage: Stage) -> Score:
        """Return R² of the upload that the sum is most alike."""
        value, rank = max((likeness(stage, rank), rank) for rank in stage.ranks())
        even = 1 / (stage.cfg.parties - 1)
        return Score(METRIC, value, even, "even share", party_name(rank), share(stage, rank))


def likeness(stage: Stage, rank: int) -> float:
    """Return R² of an upload, guessed as a multiple of the sum."""
    upload, total = _centred(stage.truth(rank)), _centred(stage.summed)
    both = float((upload**2).sum() * (total**2).sum())
    return float((upload * total).sum()) ** 2 / max(both, _LEAST)


def share(stage: Stage, rank: int) -> str:
    """Describe a party's share of all uploads' variance."""
    parts = parts_of_variance([*map(stage.truth, stage.ranks())])
    return f"{parts[rank - 1]:.0%} of the uploads' variance"


def parts_of_variance(uploads: Sequence[Table]) -> Table:
    """Return each upload's part of their variances' sum: (n, width) -> (K,)."""
    variances = np.array([each.var(0).sum() for each in uploads])
    parts: Table = variances / variances.sum()
    return parts


def _centred(values: Table) -> Table:
    centred: Table = values - values.mean(0)
    return centred
