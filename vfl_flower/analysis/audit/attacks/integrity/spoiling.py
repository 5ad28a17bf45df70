"""Trainings that one party spoils, and the score that remains."""

from collections.abc import Callable, Mapping
from typing import ClassVar

from vfl_flower.analysis.audit.attack import Adversary, Attack, Score, Target
from vfl_flower.analysis.audit.attacks.integrity.deviations import (
    DEVIATOR,
    by,
    embedded_only,
    score_on_test,
)
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.parties.passive import PassiveParty


class Spoiling(Attack):
    """Repetitions with a party that deviates; the lowest score counts.

    Attributes
    ----------
    ways : mapping of str to callable
        Changes of the party before the run, by name.
    """

    target, adversary = Target.INTEGRITY, Adversary.DEVIATING_PASSIVE
    ways: ClassVar[Mapping[str, Callable[[PassiveParty], None]]]

    def applies(self, stage: Stage) -> str:
        """Refuse runs without uploads, or test rows."""
        return embedded_only(stage)

    def run(self, stage: Stage) -> Score:
        """Return the active party's score beside that of the honest run."""
        scores = {
            name: score_on_test(stage.again(by(way)).active) for name, way in self.ways.items()
        }
        worst = min(scores, key=lambda name: scores[name][1])
        (metric, value), (_, honest) = scores[worst], score_on_test(stage.run.active)
        return Score(f"{metric} left", value, honest, "honest run", DEVIATOR, worst)
