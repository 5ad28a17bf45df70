"""Norm scoring: rows of one class have longer gradients."""

import numpy as np

from vfl_flower.analysis.audit.attacks.labels.scoring import Scoring
from vfl_flower.analysis.audit.transcripts.attacked import AttackedRows
from vfl_flower.analysis.audit.transcripts.tables import Table


class NormScoring(Scoring):
    """Euclidean norm of a row's received numbers."""

    anchor = "Li et al. 2021, arXiv:2102.08504"
    idea = "the norm of a row's gradient; a rare class has longer ones"

    def scored(self, table: Table, attacked: AttackedRows) -> Table:
        """Return norms, (n, 1)."""
        norms: Table = np.linalg.norm(table, axis=1, keepdims=True)
        return norms
