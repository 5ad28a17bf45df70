"""Labels learnt from received numbers, with a few known labels."""

from collections.abc import Sequence

from vfl_flower.analysis.audit.attacks.labels.inference import OWN_COLUMNS, LabelInference
from vfl_flower.analysis.audit.transcripts.recorder import Recorder
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.analysis.audit.transcripts.tables import Table


class Learnt(LabelInference):
    """Logistic regression on a row's received numbers from few known labels."""

    anchor = "Sun et al. 2022, arXiv:2203.01451"
    idea = "a regression on a row's received numbers, taught by the known labels"

    def sources(self, stage: Stage) -> Sequence[str]:
        """Return all messages about rows."""
        return list(stage.recorders[0].received)

    def scores(self, stage: Stage, recorder: Recorder, source: str) -> Table:
        """Learn from the known labels; of `OWN_COLUMNS`, without any message."""
        attacked = stage.attacked
        own = source == OWN_COLUMNS
        table = (
            stage.columns(recorder.party) if own else recorder.received[source].mean(attacked.rows)
        )
        return attacked.regressed(table, attacked.known, attacked.y)

    def baseline(self, stage: Stage) -> tuple[float, str]:
        """Return the accuracy of the same regression on own columns."""
        return self.best(stage, OWN_COLUMNS)[0], OWN_COLUMNS
