"""Spectral scoring: classes lie apart along the first singular vector."""

import numpy as np

from vfl_flower.analysis.audit.attacks.labels.scoring import Scoring
from vfl_flower.analysis.audit.transcripts.attacked import AttackedRows
from vfl_flower.analysis.audit.transcripts.tables import Table


class SpectralScoring(Scoring):
    """Projection on the first right singular vector of the centred numbers."""

    anchor = "Sun et al. 2022, arXiv:2203.01451, after Tran et al. 2018, arXiv:1811.00636"
    idea = "the place of a row's gradient along the first singular vector of all"

    def scored(self, table: Table, attacked: AttackedRows) -> Table:
        """Return projections, (n, 1)."""
        centred = table - table.mean(0)
        _, _, right = np.linalg.svd(centred, full_matrices=False)
        projected: Table = centred @ right[:1].T
        return projected
