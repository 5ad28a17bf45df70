"""EASTER, passive party; notation and header in `strategies.easter`."""

from torch import Tensor

from vfl_flower.api import (
    RING_LIMIT,
    Party,
    PassiveParty,
    Tape,
    activations,
    floats,
    phase,
    residual,
    rows,
)

GLOBAL = activations("B", "D", low=-RING_LIMIT, high=RING_LIMIT, name="E")
"""A mean of embeddings, each of which the ring can hold."""


class EasterClient(PassiveParty):
    """Embeds its columns, predicts from everybody's, and learns from the residual."""

    default_loss = "binary-cross-entropy"
    components = (Tape,)
    tape: Tape

    def __init__(self, party: Party) -> None:
        super().__init__(party)
        self.tape.passes = {"embed": self.share, "predict": self.decide}

    @phase(takes=rows("batch"), gives=floats("B", "D", name="E_k"), sends="embedding")
    def embed(self, rows: Tensor) -> Tensor:  # (B,) int32 -> (B, D), masked
        """Begin a step: [E_k]."""
        return self.tape.start("embed", rows)

    @phase(
        after="embed",
        takes=GLOBAL,
        gives=floats("B", "C", name="R_k"),
        sends="logits",
        masked=False,  # each R_k has its own loss
        derived=True,  # p_k learns from E and g_k alone
        every_row=True,
    )
    def predict(self, E: Tensor) -> Tensor:  # (B, D) -> (B, C)
        """Predict from the global embedding: R_k."""
        return self.tape.run("predict", E)

    @phase(after="predict", takes=residual("B", "C", of="predict", name="g_k"), every_row=True)
    def update(self, g_k: Tensor) -> None:  # (B, C) ->
        """Learn from the residual, h_k through its own share of E."""
        self.optimizer.zero()
        dE = self.tape.backward("predict", g_k)
        self.tape.backward("embed", self.of_own_rows(dE / (1 + self.contributors)))
        self.optimizer.step()

    @phase(
        training=False,
        takes=rows("held-out"),
        gives=floats("B", "D", name="E_k"),
        sends="embedding",
    )
    def embed_only(self, rows: Tensor) -> Tensor:  # (B,) int32 -> (B, D), masked
        """Embed rows without learning from them."""
        return self.share(rows)

    @phase(
        training=False,
        after="embed_only",
        takes=GLOBAL,
        gives=floats("B", "C", name="R_k"),
        sends="logits",
        masked=False,
        derived=True,
        every_row=True,
    )
    def predict_only(self, E: Tensor) -> Tensor:  # (B, D) -> (B, C)
        """Predict without learning."""
        return self.decide(E)
