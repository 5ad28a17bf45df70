"""Cosine scoring: gradients of one class point the same way."""

import numpy as np

from vfl_flower.analysis.audit.attacks.labels.scoring import Scoring
from vfl_flower.analysis.audit.transcripts.attacked import AttackedRows
from vfl_flower.analysis.audit.transcripts.tables import Table

_LEAST = 1e-30  # of a norm: rows that got nothing have none


class CosineScoring(Scoring):
    """Cosine of a row's numbers and a class's mean direction."""

    anchor = "Li et al. 2021, arXiv:2102.08504"
    idea = "the cosine of a row's gradient with those of the class's known rows"

    def scored(self, table: Table, attacked: AttackedRows) -> Table:
        """Return cosines, (n, C); 0 for a class without known rows."""
        unit = table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), _LEAST)
        directions = np.zeros((attacked.classes, table.shape[1]))
        for c in range(attacked.classes):
            of_class = unit[attacked.known & (attacked.y == c)]
            directions[c] = of_class.mean(0) if len(of_class) else 0
        cosines: Table = unit @ directions.T
        return cosines
