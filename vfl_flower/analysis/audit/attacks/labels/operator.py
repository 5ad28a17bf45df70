"""View of a SuperLink operator, who relays the messages of all parties.

TLS ends at the SuperLink: whoever runs it reads what it relays. It has no columns and no network,
but the numbers of all parties at once, so that noise of one party's messages may be averaged out.
"""

from collections.abc import Iterator

import numpy as np

from vfl_flower.analysis.audit.attack import Adversary, Attack, Score, Target
from vfl_flower.analysis.audit.attacks.labels.inference import classes_only
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.analysis.audit.transcripts.tables import Table


class OperatorView(Attack):
    """Regression on all parties' readable messages, or their mean."""

    target, adversary = Target.LABELS, Adversary.OPERATOR
    anchor = "none; Flower's SuperLink relays messages between apps"
    idea = "all parties' readable numbers of a row: read off, or learnt from the known labels"

    def applies(self, stage: Stage) -> str:
        """Refuse connections that go past the SuperLink."""
        if stage.cfg.transport == "stream":
            return "exchanges go from app to app over a stream, which the SuperLink does not relay"
        if not classes_only(stage) and not self.tables(stage):
            return "no message about rows can be read"
        return classes_only(stage)

    def tables(self, stage: Stage) -> list[Table]:
        """Return everybody's received numbers, and uploads without masks."""
        rows = stage.attacked.rows
        down = [sums.mean(rows) for each in stage.recorders for sums in each.received.values()]
        up = [
            recorder.last_sent(sent, rows).reshape(len(rows), -1)
            for recorder in stage.recorders
            for sent in recorder.sent.values()
            if not sent.masked
        ]
        return down + up

    def run(self, stage: Stage) -> Score:
        """Return the accuracy of reading off or learning, whichever is better."""
        attacked = stage.attacked
        joined = np.concatenate(self.tables(stage), 1)
        guesses = [attacked.regressed(joined, attacked.known, attacked.y), *self.read(stage)]
        accuracy = max(attacked.judge(each)[0] for each in guesses)
        return Score("accuracy", accuracy, attacked.majority(), "majority")

    def read(self, stage: Stage) -> Iterator[Table]:
        """Yield class scores from messages with one number a class."""
        rows = stage.attacked.rows
        for source in stage.recorders[0].received:
            each = [recorder.received[source].mean(rows) for recorder in stage.recorders]
            if each[0].shape[1] == stage.attacked.classes:
                mean = np.mean(each, 0)
                yield from (mean, -mean)
