"""Progress of a run: steps, evaluations, stages."""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vfl_flower.config.evaluation.metrics import better, loss_of_score
from vfl_flower.protocol.observer import Evaluation, Stage

_ROUNDING = 1e-9  # percentage points


@dataclass
class Progress:
    """Progress of a run: steps, evaluations, stages, test metrics.

    Attributes
    ----------
    step : int
        Steps done.
    seconds : float
        Spent in earlier attempts.
    losses : list of list of float
        Of the steps since the last evaluation, a list per step with one loss per party.
    hits : list of list of int
        Of the same steps, likewise: training rows whose true class was predicted.
    judged : int
        Training rows that `hits` are of.
    records : list of Evaluation
        The evaluations so far.
    best : Evaluation or None
        The best of them; the earlier of equals.
    checked_exchanges : int
        Exchanges of training when shares were last checked.
    kept_exchanges : int
        Exchanges of training when the passive parties last kept their weights.
    test : dict
        Loss and score, accuracy or r2, on the test rows by party, once they have been evaluated.
    curves : dict
        Of the active party's predictions of the test rows; see `curves_of`.
    stages : list of Stage
        Progress of stages before the training in steps, latest last.
    parties_mark, parties_exchanges : int
        Mark of the passive parties' last checkpoint, and exchanges of training until then.
    written_mark, spare_mark : int
        Marks of the active party's last checkpoint, and of its last one that belongs to the
        passive parties' checkpoint before their last.
    shares : list of int
        Largest share of a passive party in what was summed, in percent, at each check.
    metrics : dict
        Further metrics on the test rows, by party; see `metrics_of`.
    """

    step: int = 0
    seconds: float = 0.0
    losses: list[list[float]] = field(default_factory=list)
    hits: list[list[int]] = field(default_factory=list)
    judged: int = 0
    records: list[Evaluation] = field(default_factory=list)
    best: Evaluation | None = None
    checked_exchanges: int = 0
    kept_exchanges: int = 0
    test: dict[str, dict[str, float]] = field(default_factory=dict)
    metrics: dict[str, Any] = field(default_factory=dict)
    curves: dict[str, Any] = field(default_factory=dict)
    shares: list[int] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    parties_mark: int = -1
    parties_exchanges: int = -1
    written_mark: int = -1
    spare_mark: int = -1
    started: float = field(default_factory=time.monotonic)

    @property
    def mark(self) -> int:
        """Number that names a checkpoint: steps done, plus units of stages."""
        return self.step + len(self.stages)

    def elapsed(self) -> float:
        """Return the seconds spent so far, earlier attempts included."""
        return self.seconds + time.monotonic() - self.started

    def add(self, evaluation: Evaluation, *, judged: bool = True) -> bool:
        """Add an evaluation; tell whether it is the best judged one.

        Those with a party that has left since do not compare.
        """
        self.records.append(evaluation)
        best = self.best
        if best is not None and best.without != evaluation.without:
            best = None
        if judged and (best is None or better(evaluation.metric, evaluation.score, best.score)):
            self.best = evaluation
        return self.best is evaluation

    def note_hits(self, hits: list[int], rows: int) -> None:
        """Count the hits of a step, by party, if they are known."""
        if hits:
            self.hits.append(hits)
            self.judged += rows

    def since_evaluation(self) -> tuple[list[float], list[float]]:
        """Return mean losses and shares of hits by party, and begin anew.

        The shares are empty if no hits were counted.
        """
        losses = np.mean(self.losses, axis=0).tolist()
        shares = (np.sum(self.hits, axis=0) / self.judged).tolist() if self.hits else []
        self.losses, self.hits, self.judged = [], [], 0
        return losses, shares

    def fallen(self, points: float) -> bool:
        """Tell whether the score is more than `points` worse than the best.

        In percentage points of the last evaluation.
        """
        if not points or self.best is None:
            return False
        last = self.records[-1]
        return 100 * loss_of_score(last.metric, last.score, self.best.score) > points + _ROUNDING

    def counting(self, keep: str) -> Evaluation | None:
        """Return the evaluation of the final weights, last or best."""
        return self.best if keep == "best" or not self.records else self.records[-1]
