"""Agg_VFL, passive party.  Notation, and what it learns, as in `strategies.agg_vfl`."""

from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.parties.party import Party
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.parties.tape import Tape
from vfl_flower.privacy.secure_aggregation import Masker
from vfl_flower.protocol.components import phase


class AggVFLClient(PassiveParty):
    """Predicts from its own columns, and learns from the residual of everybody's sum."""

    components = (Masker, Tape)
    masker: Masker
    tape: Tape

    def __init__(self, member: Party) -> None:
        super().__init__(member)
        self.tape.passes = {"predict": self.logits}

    def logits(self, rows: Tensor) -> Tensor:  # (B,) -> (B, C)
        """Return R_k."""
        return self.decide(self.embed_rows(rows))

    @phase
    def predict(self, rows: Tensor) -> Array:  # (B,) int32 -> (B, C) uint32, blinded
        """Begin a step: [R_k]."""
        return self.masker.blind(self.privacy.upload(self.tape.start("predict", rows)))

    @phase(after="predict")
    def update(self, g: Tensor) -> None:  # (B, C) ->
        """Learn from the residual."""
        self.optimizer.zero()
        self.tape.backward("predict", g)
        self.optimizer.step()

    @phase(training=False)
    def predict_only(self, rows: Tensor) -> Array:  # (B,) int32 -> (B, C) uint32, blinded
        """Predict without learning."""
        return self.masker.blind(self.privacy.upload(self.logits(rows)))
