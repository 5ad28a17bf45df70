"""Labels that were read off, averaged over rows with columns alike."""

import numpy as np

from vfl_flower.analysis.audit.attacks.labels.read_off import ReadOff
from vfl_flower.analysis.audit.transcripts.recorder import Recorder
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.analysis.audit.transcripts.tables import Table


class Denoised(ReadOff):
    """Logistic regression of labels read off on own columns.

    Noise on labels is averaged out over rows that are alike.
    """

    anchor = "Wu et al. 2022, arXiv:2202.12968"
    idea = "labels read off, noised or not, teach a regression on the party's own columns"

    def scores(self, stage: Stage, recorder: Recorder, source: str) -> Table:
        """Learn from all labels that are read off, by own columns."""
        read = super().scores(stage, recorder, source)
        told = read.argmax(1)
        if (told == told[0]).all():  # of one class, nothing is learnt
            return read
        columns = stage.columns(recorder.party)
        return stage.attacked.regressed(columns, np.ones(len(told), bool), told)
