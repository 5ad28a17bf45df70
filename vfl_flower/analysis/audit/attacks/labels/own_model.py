"""Labels predicted by the model that a passive party has after training."""

from collections.abc import Sequence

import torch

from vfl_flower.analysis.audit.attacks.labels.inference import LabelInference
from vfl_flower.analysis.audit.transcripts.recorder import Recorder
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.analysis.audit.transcripts.tables import Table, table_of

LOGITS, NETWORK = "own logits", "own network"


class OwnModel(LabelInference):
    """Predictions of a party's own model, whose top model was trained."""

    anchor = "Fu et al. 2022, USENIX Security (the trained model itself)"
    idea = "the logits that the party sent last, or its own trained network, predict"

    def sources(self, stage: Stage) -> Sequence[str]:
        """Return `LOGITS` that were sent, or else a `NETWORK` that decides."""
        if stage.recorders[0].own_logits():
            return [LOGITS]
        return [NETWORK] if stage.recorders[0].decides() else []

    def scores(self, stage: Stage, recorder: Recorder, source: str) -> Table:
        """Return the logits of the rows under attack."""
        rows, sent = stage.attacked.rows, recorder.own_logits()
        if sent is not None:
            return recorder.last_sent(sent, rows)
        party = recorder.party
        party.net.eval()
        with torch.no_grad():
            return table_of(party.decide(party.embed_rows(rows)))
