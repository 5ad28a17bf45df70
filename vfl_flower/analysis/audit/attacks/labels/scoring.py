"""Scores of rows that tell one class from the rest, by AUC."""

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np

from vfl_flower.analysis.audit.attack import Adversary, Attack, Score, Target
from vfl_flower.analysis.audit.attacks.labels.inference import classes_only
from vfl_flower.analysis.audit.transcripts.attacked import AttackedRows, Labels, area_under
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.analysis.audit.transcripts.tables import Table
from vfl_flower.common.names import party_name


class Scoring(Attack):
    """One score of each row for each class.

    The figure is the AUC of one class against the rest, the mean over classes. Whether a class has
    high or low scores, the attacker may guess: the larger of AUC and 1 - AUC counts. Chance does
    better than a half then, so the baseline is the same figure with rows shuffled.
    """

    target, adversary = Target.LABELS, Adversary.PASSIVE

    @abstractmethod
    def scored(self, table: Table, attacked: AttackedRows) -> Table:
        """Score rows: (n, width) -> (n, C), or (n, 1)."""

    def applies(self, stage: Stage) -> str:
        """Refuse labels that are no classes, and runs without gradients."""
        if not classes_only(stage) and not any(True for _ in self.tables(stage)):
            return "passive parties receive no number a row"
        return classes_only(stage)

    def tables(self, stage: Stage) -> Iterator[tuple[Table, int, str]]:
        """Yield each party's received numbers, with rank and source."""
        for recorder in stage.recorders:
            for source, sums in recorder.received.items():
                yield sums.mean(stage.attacked.rows), recorder.party.rank, source

    def run(self, stage: Stage) -> Score:
        """Return the AUC of the best party from the best source."""
        attacked, random = stage.attacked, np.random.default_rng(0)
        found = [
            (self.area(scores, attacked, attacked.y), rank, source, scores)
            for table, rank, source in self.tables(stage)
            for scores in [self.scored(table, attacked)]
        ]
        area, rank, source, scores = max(found, key=lambda each: each[:3])
        chance = self.area(scores, attacked, random.permutation(attacked.y))
        return Score("AUC", area, chance, "shuffled rows", party_name(rank), source)

    def area(self, scores: Table, attacked: AttackedRows, y: Labels) -> float:
        """Return the mean AUC over classes, on unknown rows."""
        judged, areas = ~attacked.known, []
        for c in range(attacked.classes):
            column = scores[judged, min(c, scores.shape[1] - 1)]
            area = area_under(y[judged] == c, column)
            areas.append(max(area, 1 - area))
        return float(np.mean(areas))
