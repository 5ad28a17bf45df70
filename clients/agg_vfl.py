"""Agg_VFL, passive party.  Notation, and what it learns, as in `strategies.agg_vfl`."""

from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.parties.party import Member
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.parties.tape import Tape
from vfl_flower.privacy.secure_aggregation import Blinder
from vfl_flower.protocol.components import phase


class AggVFLClient(PassiveParty):
    """Predicts from its own columns, and learns from the residual of everybody's sum."""

    parts = (Blinder, Tape)
    blinder: Blinder
    tape: Tape

    def __init__(self, member: Member) -> None:
        super().__init__(member)
        self.tape.passes = {"predict": self.logits}

    def logits(self, rows: Tensor) -> Tensor:  # (B,) -> (B, C)
        """Return R_k."""
        return self.decide(self.embed_rows(rows))

    @phase
    def predict(self, rows: Tensor) -> Array:  # (B,) int32 -> (B, C) uint32, blinded
        """Begin a step: [R_k]."""
        return self.blinder.blind(self.privacy.upload(self.tape.start("predict", rows)))

    @phase(after="predict")
    def update(self, g: Tensor) -> None:  # (B, C) ->
        """Learn from the residual."""
        self.descent.zero()
        self.tape.backward("predict", g)
        self.descent.step()

    @phase(training=False)
    def predict_only(self, rows: Tensor) -> Array:  # (B,) int32 -> (B, C) uint32, blinded
        """Predict without learning."""
        return self.blinder.blind(self.privacy.upload(self.logits(rows)))
