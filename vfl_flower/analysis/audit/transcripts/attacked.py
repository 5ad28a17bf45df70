"""Rows under attack, the labels and columns known beforehand, and success."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vfl_flower.analysis.audit.transcripts.tables import Table
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.catalog import MULTI_LABEL, REGRESSION
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.loading import run_data
from vfl_flower.data.splitting.record import Split
from vfl_flower.workflows.build_parties import build_active

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

Labels = NDArray[np.int64]
MOST_ROWS = 10_000
"""Training rows that are attacked."""


class AttackedRows:
    """Training rows under attack, and their known labels and columns.

    Parameters
    ----------
    cfg : RunConfig
        The run.
    known : int
        Labels of each class that an attacker who learns has.
    auxiliary : int
        Rows whose columns an attacker who learns has; at most half of all.
    split : Split, optional
        See `split_of`.

    Attributes
    ----------
    classes : int
        C; of labels that are numbers, as the run's data have it.
    rows : ndarray of int32
        (n,), in random order.
    y : ndarray of int64
        (n,), or empty where labels are not classes.
    known, auxiliary : ndarray of bool
        (n,), of which rows labels, and columns, are known.
    other_labels : str
        Says of labels that are not classes, in a relative clause, which they are.

    Raises
    ------
    ConfigError
        If all labels are known.
    """

    def __init__(
        self, cfg: RunConfig, known: int, auxiliary: int = 0, split: Split | None = None
    ) -> None:
        active = build_active(cfg, source=run_data(cfg, split=split))
        numbers = active.target.task == REGRESSION
        several = active.target.task == MULTI_LABEL
        self.other_labels = "are numbers" if numbers else "are several of a row" if several else ""
        self.split, self.classes = split, active.data.classes
        random = np.random.default_rng(cfg.seed)
        self.rows: Array = random.permutation(active.rows["train"])[:MOST_ROWS]
        self.auxiliary = np.arange(len(self.rows)) < min(auxiliary, len(self.rows) // 2)
        np.random.default_rng([cfg.seed, 1]).shuffle(self.auxiliary)  # not the first batches
        self.y: Labels = np.empty(0, np.int64)
        self.known = np.zeros(len(self.rows), bool)
        if not self.other_labels:
            self.y = active.y.numpy()[self.rows]
            self._give_labels(known)

    def _give_labels(self, known: int) -> None:
        order = np.argsort(self.y, kind="stable")
        starts = np.searchsorted(self.y[order], np.arange(self.classes))
        ranks = np.arange(len(order)) - starts[self.y[order]]
        self.known[order[ranks < known]] = True
        if self.known.all():
            raise ConfigError(f"no labels are left to attack with --known {known}; take fewer")

    def majority(self) -> float:
        """Return the share of the most frequent class."""
        return float(np.bincount(self.y).max() / len(self.y))

    def judge(self, scores: Table) -> tuple[float, float]:
        """Return accuracy and AUC of class scores, (n, C).

        Rows with known labels do not count.
        """
        y, scores = self.y[~self.known], scores[~self.known]
        accuracy = float((scores.argmax(1) == y).mean())
        if self.classes == 2:
            return accuracy, area_under(y, scores[:, 1] - scores[:, 0])
        present = [c for c in range(self.classes) if 0 < (y == c).mean() < 1]
        areas = [area_under(y == c, scores[:, c]) for c in present]
        return accuracy, float(np.mean(areas)) if areas else 0.5

    def regressed(self, table: Table, known: NDArray[np.bool_], labels: Labels) -> Table:
        """Learn from some rows' labels; return all rows' class scores."""
        model = regression()
        model.fit(table[known], labels[known])
        scores = np.zeros((len(table), self.classes))
        scores[:, model.classes_] = model.predict_proba(table)
        return scores


def regression() -> "Pipeline":
    """Return a logistic regression of standardised numbers."""
    # scikit-learn is slow to import
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))


def area_under(positive: NDArray[np.generic], scores: NDArray[np.floating]) -> float:
    """Return the AUC of scores, (n,), for a property of rows.

    It is 0.5 if all rows are alike.
    """
    # scikit-learn is slow to import
    from sklearn.metrics import roc_auc_score

    if not 0 < positive.astype(bool).mean() < 1:
        return 0.5
    return float(roc_auc_score(positive, scores))
