"""VIMADMM-J, passive party; notation and header in `strategies.vimadmm_j`."""

from typing import TYPE_CHECKING

from torch import Tensor

from vfl_flower.algorithms.admm_heads import check_head, descend_with_head
from vfl_flower.api import Party, PassiveParty, Tape, floats, phase, rows

if TYPE_CHECKING:
    from strategies.specs.vimadmm_j import VIMADMMJOptions


class VIMADMMJClient(PassiveParty):
    """Predicts from its own columns, takes tau steps on its Lagrangian term."""

    options: "VIMADMMJOptions"
    components = (Tape,)
    tape: Tape

    def __init__(self, party: Party) -> None:
        super().__init__(party)
        self.tape.passes = {"embed": self.embed_rows, "decide": self.decide}
        check_head(self)

    @property
    def largest_v(self) -> float:
        """The bound of v, from the largest weight of a row.

        v is twice the new lambda less the old one, each of which is one weight at most: 3, and
        room for rounding.
        """
        return 4 * self.residuals.most

    @phase(takes=rows("batch"), gives=floats("B", "C", name="o_k"), sends="logits")
    def predict(self, rows: Tensor) -> Tensor:  # (B,) int32 -> (B, C), masked
        """Begin a round: o_k."""
        H_k = self.tape.start("embed", rows)
        return self.bounded(self.tape.run("decide", H_k))

    @phase(after="predict", takes=floats("B", "C", most="largest_v", name="v"))
    def update(self, v: Tensor) -> None:  # (B, C) ->
        """Update W_k and h_k by Eq. 22 and 23."""
        _, o_k = self.tape["decide"]
        sent = self.privacy.sent(self.bounded(o_k.detach()))
        self.descend(*self.tape["embed"], sent, v)

    def descend(self, rows: Tensor, H_k: Tensor, o_0: Tensor, v: Tensor) -> None:
        """Take tau steps of W_k and of h_k."""
        descend_with_head(self, rows, H_k, o_0, v, self.options)

    @phase(
        training=False, takes=rows("held-out"), gives=floats("B", "C", name="o_k"), sends="logits"
    )
    def predict_only(self, rows: Tensor) -> Tensor:  # (B,) int32 -> (B, C), masked
        """Predict without learning."""
        return self.bounded(self.decide(self.embed_rows(rows)))
