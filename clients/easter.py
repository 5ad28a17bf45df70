"""EASTER, passive party; notation and header in `strategies.easter`."""

from torch import Tensor

from vfl_flower.api import Party, PassiveParty, Tape, phase


class EasterClient(PassiveParty):
    """Embeds its columns, predicts from everybody's, and learns from the residual."""

    components = (Tape,)
    tape: Tape

    def __init__(self, party: Party) -> None:
        super().__init__(party)
        self.tape.passes = {"embed": self.embed_rows, "predict": self.decide}

    @phase(sends="embedding")
    def embed(self, rows: Tensor) -> Tensor:  # (B,) int32 -> (B, D), masked
        """Begin a step: [E_k]."""
        return self.tape.start("embed", rows)

    @phase(after="embed", sends="logits", masked=False)  # each R_k has its own loss
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

    @phase(training=False, sends="embedding")
    def embed_only(self, rows: Tensor) -> Tensor:  # (B,) int32 -> (B, D), masked
        """Embed rows without learning from them."""
        return self.embed_rows(rows)

    @phase(training=False, sends="logits", masked=False)
    def predict_only(self, E: Tensor) -> Tensor:  # (B, D) -> (B, C)
        """Predict without learning."""
        return self.decide(E)
