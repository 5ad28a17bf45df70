"""Labels read off a row's own numbers, one for each class.

The gradient of a loss at an output is negative at the true class alone: the largest or the
smallest mean over the epochs tells, whichever does better.
"""

from collections.abc import Sequence

import numpy as np

from vfl_flower.analysis.audit.attacks.labels.inference import LabelInference
from vfl_flower.analysis.audit.transcripts.recorder import Recorder
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.analysis.audit.transcripts.tables import Table


class ReadOff(LabelInference):
    """The class of a row's largest, or smallest, received number."""

    anchor = "Li et al. 2021, arXiv:2102.08504"
    idea = "the largest or smallest of a row's numbers, one a class, is at its label"

    def sources(self, stage: Stage) -> Sequence[str]:
        """Return the messages with one number a class."""
        received = stage.recorders[0].received
        classes = stage.attacked.classes
        fitting = {classes, 1} if classes == 2 else {classes}
        return [name for name, sums in received.items() if sums.total.shape[1] in fitting]

    def scores(self, stage: Stage, recorder: Recorder, source: str) -> Table:
        """Return the row's mean numbers, or these negated."""
        table = recorder.received[source].mean(stage.attacked.rows)
        if table.shape[1] == 1:
            table = np.hstack([-table, table])
        return max((table, -table), key=lambda scores: stage.attacked.judge(scores))
