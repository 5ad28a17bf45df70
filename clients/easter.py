"""EASTER, passive party.  Notation, and what it learns, as in `strategies.easter`."""

from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.parties.party import Party
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.parties.tape import Tape
from vfl_flower.privacy.secure_aggregation import Masker
from vfl_flower.protocol.components import phase


class EasterClient(PassiveParty):
    """Embeds its columns, predicts from everybody's, and learns from the residual."""

    components = (Masker, Tape)
    masker: Masker
    tape: Tape

    def __init__(self, member: Party) -> None:
        super().__init__(member)
        self.tape.passes = {"embed": self.embed_rows, "predict": self.decide}

    @phase
    def embed(self, rows: Tensor) -> Array:  # (B,) int32 -> (B, D) uint32, blinded
        """Begin a step: [E_k]."""
        return self.masker.blind(self.tape.start("embed", rows))

    @phase(after="embed")
    def predict(self, E: Tensor) -> Tensor:  # (B, D) -> (B, C)
        """Predict from the global embedding: R_k."""
        return self.tape.run("predict", E)

    @phase(after="predict")
    def update(self, g_k: Tensor) -> None:  # (B, C) ->
        """Learn from the residual, h_k through its own share of E."""
        self.optimizer.zero()
        dE = self.tape.backward("predict", g_k)
        self.tape.backward("embed", dE / self.parties)
        self.optimizer.step()

    @phase(training=False)
    def embed_only(self, rows: Tensor) -> Array:  # (B,) int32 -> (B, D) uint32, blinded
        """Embed rows without learning from them."""
        return self.masker.blind(self.embed_rows(rows))

    @phase(training=False)
    def predict_only(self, E: Tensor) -> Tensor:  # (B, D) -> (B, C)
        """Predict without learning."""
        return self.decide(E)
