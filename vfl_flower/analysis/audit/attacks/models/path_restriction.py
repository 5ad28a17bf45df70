"""Path restriction: columns between the thresholds of known trees.

Luo et al. 2021, arXiv:2010.10152, "PRA". In the paper the active party has all thresholds and a
prediction's class, and leaves out the paths that do not lead to it. Here each party tells who goes
left at each of its splits, so that every path is known. With all thresholds, a column of a row lies

    between the largest threshold that it is above, and the smallest that it is not

and the guess is the mean of the auxiliary rows that lie there.
"""

import numpy as np

from vfl_flower.algorithms.boosting.forest import Splits
from vfl_flower.analysis.audit.attack import Adversary, Attack, Score, Target
from vfl_flower.analysis.audit.attacks.columns.recovery import r_squared
from vfl_flower.analysis.audit.attacks.models.known import Scene, from_own_columns
from vfl_flower.analysis.audit.transcripts.stage import NO_PREDICTIONS, Stage
from vfl_flower.analysis.audit.transcripts.tables import Table, table_of
from vfl_flower.common.codec import Array
from vfl_flower.common.names import party_name

_FEW = 1e-9  # of a row


class PathRestriction(Attack):
    """Means of the auxiliary rows between two thresholds."""

    target, adversary = Target.COLUMNS, Adversary.INFORMED
    anchor = "Luo et al. 2021, arXiv:2010.10152 (PRA)"
    idea = "with all thresholds, a row's path through a tree says between which its columns lie"

    def applies(self, stage: Stage) -> str:
        """Refuse runs without trees."""
        if not any(isinstance(each.net, Splits) for each in stage.run.passive):
            return "no party has trees"
        return "" if stage.run.answers else NO_PREDICTIONS

    def run(self, stage: Stage) -> Score:
        """Return R² of the party that is told best beyond the baseline."""
        scene, found = Scene(stage), []
        for party in stage.run.passive:
            assert isinstance(party.net, Splits)  # noqa: S101  `applies` has asked
            x, known = (
                table_of(party.columns(rows)).reshape(len(rows), -1)
                for rows in (scene.rows, scene.auxiliary)
            )
            left = party.net.directions(x)
            guess = between(party.net, left, np.nan_to_num(known))
            after, before = r_squared(np.nan_to_num(x), guess), from_own_columns(scene, party)
            found.append((after - before, after, before, party.rank))
        _, after, before, rank = max(found)
        return Score("R²", after, before, "own columns", party_name(rank), f"{scene.part} rows")


def between(splits: Splits, left: Array, known: Table) -> Table:
    """Guess columns by who goes left.

    Parameters
    ----------
    splits : Splits
        With the thresholds.
    left : ndarray
        (B, S) bool, at each split.
    known : ndarray
        (A, F), columns of the auxiliary rows.

    Returns
    -------
    ndarray
        (B, F).
    """
    there = splits.column >= 0
    column, threshold = splits.column[there].numpy(), splits.threshold[there].double().numpy()
    guess = np.tile(known.mean(0), (len(left), 1))
    for each in np.unique(column):
        t, goes, values = threshold[column == each], left[:, column == each], known[:, each]
        low = np.where(goes, -np.inf, t).max(1)
        high = np.where(goes, t, np.inf).min(1)
        inside = (values > low[:, None]) & (values <= high[:, None])
        # where no auxiliary row lies, the mean of all counts
        mean = (inside @ values + _FEW * guess[:, each]) / (inside.sum(1) + _FEW)
        guess[:, each] = np.minimum(np.maximum(mean, low), high)
    return guess
