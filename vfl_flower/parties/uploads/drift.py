"""Counter of scored rows that are unlike those of training."""

from functools import cached_property

from vfl_flower.parties.input_drift import InputDrift, Scored
from vfl_flower.protocol.components import Answerer, Owner, Phase
from vfl_flower.protocol.uploads import Upload, UploadCounter


class Scoring(Answerer, Scored):
    """An owner with columns, ranges of them, and a request in hand."""


class DriftCounter(UploadCounter):
    """Counts the rows of a service's requests; see `InputDrift`.

    Attributes
    ----------
    counts : bool
        Whether the party is one of a service.
    """

    name = "drift"
    party: Scoring

    def __init__(self, party: Owner) -> None:
        super().__init__(party)
        self.counts = party.cfg.task == "serve"

    @cached_property
    def _drift(self) -> InputDrift:
        return InputDrift(self.party)

    def count(self, upload: Upload, declared: Phase) -> None:
        """Count the rows of an upload that names them."""
        if self.counts and declared.of_columns and declared.names_rows:
            self._drift.note(self.party.received.rows)
