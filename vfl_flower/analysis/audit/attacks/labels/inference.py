"""Label inference by a semi-honest passive party."""

from abc import abstractmethod
from collections.abc import Sequence

from vfl_flower.analysis.audit.attack import Adversary, Attack, Score, Target
from vfl_flower.analysis.audit.transcripts.recorder import Recorder
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.analysis.audit.transcripts.tables import Table
from vfl_flower.common.names import party_name

OWN_COLUMNS = "own columns"


class LabelInference(Attack):
    """Attack that scores every class of every row from one source."""

    target, adversary = Target.LABELS, Adversary.PASSIVE

    @abstractmethod
    def sources(self, stage: Stage) -> Sequence[str]:
        """Return the names of the messages that it can use."""

    @abstractmethod
    def scores(self, stage: Stage, recorder: Recorder, source: str) -> Table:
        """Return class scores, (n, C), of one party from one source."""

    def applies(self, stage: Stage) -> str:
        """Refuse labels that are no classes, and runs without a source."""
        if not classes_only(stage) and not self.sources(stage):
            return "no message to passive parties has what it needs"
        return classes_only(stage)

    def best(self, stage: Stage, source: str) -> tuple[float, float, int]:
        """Return accuracy, AUC and rank of the party that does best."""
        return max(
            (*stage.attacked.judge(self.scores(stage, each, source)), each.party.rank)
            for each in stage.recorders
        )

    def run(self, stage: Stage) -> Score:
        """Return the accuracy of the best party from the best source."""
        found = [(*self.best(stage, each), each) for each in self.sources(stage)]
        accuracy, _, rank, source = max(found)
        baseline, against = self.baseline(stage)
        return Score("accuracy", accuracy, baseline, against, party_name(rank), source)

    def baseline(self, stage: Stage) -> tuple[float, str]:
        """Return the accuracy without a message, and its name."""
        return stage.attacked.majority(), "majority"


def classes_only(stage: Stage) -> str:
    """Return the reason why labels are no classes to tell, or nothing."""
    other = stage.attacked.other_labels
    return f"labels {other}; it tells classes apart" if other else ""
