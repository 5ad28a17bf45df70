"""Property inference: whether a column of a row is above its median."""

import numpy as np

from vfl_flower.analysis.audit.attack import Adversary, Attack, Score, Target
from vfl_flower.analysis.audit.attacks.columns.decoding import own_columns
from vfl_flower.analysis.audit.transcripts.attacked import area_under, regression
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.analysis.audit.transcripts.tables import Table
from vfl_flower.common.names import party_name


class PropertyInference(Attack):
    """Regression of a binary property on uploads, taught by auxiliary rows."""

    target, adversary = Target.PROPERTY, Adversary.ACTIVE
    anchor = "Melis et al. 2019, arXiv:1805.04049"
    idea = "whether a column is above its median, told from the upload or the sum"

    def applies(self, stage: Stage) -> str:
        """Refuse runs without uploads of training rows."""
        return stage.lacks_uploads

    def run(self, stage: Stage) -> Score:
        """Return the AUC at the party whose property is told best."""
        own, found = own_columns(stage, [stage.run.active]), []
        for rank in stage.ranks():
            has = most_even(stage.columns(stage.run.passive[rank - 1]))
            view = np.concatenate([own, stage.seen(rank)], 1)
            before, after = (self.area(stage, each, has) for each in (own, view))
            found.append((after - before, after, before, rank))
        _, after, before, rank = max(found)
        return Score("AUC", after, before, "own columns", party_name(rank))

    def area(self, stage: Stage, view: Table, has: Table) -> float:
        """Return the AUC of a regression on other rows."""
        known = stage.attacked.auxiliary
        if not view.shape[1] or len(np.unique(has[known])) < 2:
            return 0.5
        model = regression()
        model.fit(view[known], has[known])
        return area_under(has[~known], model.decision_function(view[~known]))


def most_even(columns: Table) -> Table:
    """Return the property of the most evenly split column: (n,)."""
    above = columns > np.median(columns, 0)
    shares = above.mean(0)
    has: Table = above[:, np.argmin(np.abs(shares - 0.5))].astype(np.float64)
    return has
