"""Agg_VFL, passive party; notation and header in `strategies.agg_vfl`."""

from torch import Tensor

from vfl_flower.api import Party, PassiveParty, Tape, floats, phase, residual, rows


class AggVFLClient(PassiveParty):
    """Predicts from its own columns, learns from the sum's residual."""

    components = (Tape,)
    tape: Tape

    def __init__(self, party: Party) -> None:
        super().__init__(party)
        self.tape.passes = {"predict": self.logits}

    def logits(self, rows: Tensor) -> Tensor:  # (B,) -> (B, C)
        """Return R_k, each row within the bound."""
        return self.bounded(self.decide(self.embed_rows(rows)))

    @phase(takes=rows("batch"), gives=floats("B", "C", name="R_k"), sends="logits")
    def predict(self, rows: Tensor) -> Tensor:  # (B,) int32 -> (B, C), masked
        """Begin a step: [R_k]."""
        return self.tape.start("predict", rows)

    @phase(after="predict", takes=residual("B", "C", name="g"))
    def update(self, g: Tensor) -> None:  # (B, C) ->
        """Learn from the residual."""
        self.optimizer.zero()
        self.tape.backward("predict", g)
        self.optimizer.step()

    @phase(
        training=False, takes=rows("held-out"), gives=floats("B", "C", name="R_k"), sends="logits"
    )
    def predict_only(self, rows: Tensor) -> Tensor:  # (B,) int32 -> (B, C), masked
        """Predict without learning."""
        return self.logits(rows)
