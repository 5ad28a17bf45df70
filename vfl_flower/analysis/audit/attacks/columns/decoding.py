"""Decoding attack: columns by a regression from views of rows."""

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from vfl_flower.analysis.audit.attack import Attack, Score, Target
from vfl_flower.analysis.audit.attacks.columns.recovery import Decoder
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.analysis.audit.transcripts.tables import Table
from vfl_flower.common.names import party_name
from vfl_flower.parties.party import Party


class Decoding(Attack):
    """Decoder from an upload and the attackers' columns, taught by auxiliary rows.

    The baseline is the same decoder without the upload.
    """

    target = Target.COLUMNS

    @abstractmethod
    def upload(self, stage: Stage, rank: int) -> Table:
        """Return the attackers' view of a party's uploads: (n, v)."""

    @abstractmethod
    def attackers(self, stage: Stage, rank: int) -> Sequence[Party]:
        """Return the parties that attack a party, whose columns they have."""

    def applies(self, stage: Stage) -> str:
        """Refuse runs without uploads of training rows."""
        return stage.lacks_uploads

    def run(self, stage: Stage) -> Score:
        """Return R² of the columns that are told best beyond the baseline."""
        decoder = Decoder(stage.attacked.auxiliary)
        found = []
        for rank in stage.ranks():
            columns = stage.columns(stage.run.passive[rank - 1])
            own = own_columns(stage, self.attackers(stage, rank))
            view = np.concatenate([own, self.upload(stage, rank)], 1)
            before = decoder.success(own, columns)
            after = max(before, decoder.success(view, columns))  # nobody must use the upload
            found.append((after - before, after, before, rank))
        _, after, before, rank = max(found)
        return Score("R²", after, before, "own columns", party_name(rank))


def own_columns(stage: Stage, parties: Sequence[Party]) -> Table:
    """Return the columns of some parties side by side: (n, width)."""
    return np.concatenate([stage.columns(each) for each in parties], 1)
