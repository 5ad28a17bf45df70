"""VIMADMM, passive party; notation and header in `strategies.vimadmm`.

Its network's decision net is not used.
"""

from typing import TYPE_CHECKING

from torch import Tensor

from vfl_flower.algorithms.admm_heads import descend, head_of
from vfl_flower.api import Party, floats, phase, weights

from .splitnn import SplitNNClient

if TYPE_CHECKING:
    from strategies.specs.vimadmm import VIMADMMOptions


class VIMADMMClient(SplitNNClient):
    """Embeds its columns, takes tau steps on its Lagrangian term."""

    options: "VIMADMMOptions"

    def __init__(self, party: Party) -> None:
        super().__init__(party)
        self.tape.passes = {"embed": self.embed_rows}  # its steps are from what it sent, as s_k is
        classes = self.data.classes
        with self.randomness.building():  # what it starts from is overwritten, and nobody's draw
            head = head_of(self.cfg.embedding_dim, classes, self.cfg.top_layers or 1)
        self.head = head.requires_grad_(False).eval()
        self.randomness.attach(self.head)

    @phase(after="embed", takes=(floats("B", "C", name="v_k"), weights("W_k", "head")))
    def update(self, v_k: Tensor, *W_k: Tensor) -> None:  # (B, C), the weights of its head ->
        """Update h_k by Eq. 9."""
        names = self.head.state_dict()
        self.head.load_state_dict(dict(zip(names, W_k, strict=True)))
        rows, H_k = self.tape["embed"]
        o_0 = self.head(self.privacy.sent(H_k)).detach()
        descend(self, rows, H_k, self.head, o_0, v_k, self.options)
