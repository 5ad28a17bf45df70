"""SplitNN, passive party; notation and header in `strategies.splitnn`.

Its network's decision net is not used.
"""

from torch import Tensor

from vfl_flower.api import Answer, Party, PassiveParty, Tape, floats, gradient, phase, rows


class SplitNNClient(PassiveParty):
    """Embeds its columns, and learns from the gradient of its embedding."""

    components = (Tape,)
    tape: Tape

    def __init__(self, party: Party) -> None:
        super().__init__(party)
        self.tape.passes = {"embed": self.share}

    @phase(takes=rows("batch"), gives=floats("B", "D", name="E_k"), sends="embedding")
    def embed(self, rows: Tensor) -> Answer:  # (B,) int32 -> (B, D)
        """Begin a step: E_k."""
        return self.tape.start("embed", rows)

    @phase(after="embed", takes=gradient("B", "D", name="g_k"))
    def update(self, g_k: Tensor) -> None:  # (B, D) ->
        """Learn from dL/dE_k."""
        self.optimizer.zero()
        self.tape.backward("embed", g_k)
        self.optimizer.step()

    @phase(
        training=False,
        takes=rows("held-out"),
        gives=floats("B", "D", name="E_k"),
        sends="embedding",
    )
    def embed_only(self, rows: Tensor) -> Tensor:  # (B,) int32 -> (B, D)
        """Embed rows without learning from them."""
        return self.embed_rows(rows)
