"""SplitNN, active party.

Vepakomma et al. 2018, "Split learning for health", arXiv:1812.00564; Romanini et al. 2021,
"PyVertical: A Vertical Federated Learning Framework for Multi-headed SplitNN", arXiv:2104.00489.

Every party k = 0..K (0 is active) has an embedding net h_k, and the active party a top model p on
all embeddings side by side. For a batch of B rows, embedding width D and C classes:

    E_k = h_k(x_k)                  (B, D)
    R   = p(E_0 | E_1 | ... | E_K)  (B, C)   the one prediction, from (B, (K + 1) D)
    L   = loss(R, y)
    g_k = dL / dE_k                 (B, D)   what party k learns from

With ``active-columns = none`` there is no E_0, and p is on the other K. With ``missing-parties =
use``, e_k stands for E_k in the rows that party k lacks: a placeholder of width D that the active
party learns with p, zeros at first. Then g_k is 0 there.

Learns
    Active: *every embedding E_k, of every row, in the clear*; nothing blinds them, for p needs
    each. Who knows the weights of h_k, as all do if they are public, can solve E_k for party k's
    columns. Under client-level privacy each E_k is clipped and noised at party k.
    Passive k: which rows a batch holds, and g_k. *From g_k it can tell the classes of the batch's
    rows apart*: rows of one class are pulled in like directions. With ``gradient-defence`` g_k is
    changed first, without a guarantee.
Assumes
    Semi-honest (honest-but-curious) parties; passive parties that may show the active one their
    embeddings.
Deviates
    Not from the papers with ``top-gradient = before``. ``after`` is Eq. 16 of VIM (Xie et al. 2022,
    arXiv:2207.10226), which steps p first, with the embeddings fixed, and takes all g_k through the
    new p.
Costs
    One exchange a step. Per step and passive party 4BD bytes up, 4B + 4BD down, and framing.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from vfl_flower.api import ActiveParty, Party, Protocol, Replies, agree_keys, ask, tell_each, train
from vfl_flower.common.codec import Array
from vfl_flower.learning.losses import Labels
from vfl_flower.learning.networks.base import TopInput

from .specs.splitnn import SplitNNOptions


class SplitNN(ActiveParty):
    """One prediction from all embeddings by the top model p."""

    top_input = TopInput.JOINED

    def __init__(self, party: Party, y: Tensor, rows: dict[str, Array]) -> None:
        super().__init__(party, y, rows)
        self.here: Tensor | None = None  # (B, K), which party has which row in hand
        if self.top_input is TopInput.JOINED and self.cfg.uses_missing:
            self.placeholders = nn.Parameter(torch.zeros(self.parties - 1, self.cfg.embedding_dim))
            self.net.register_parameter("placeholders", self.placeholders)
            self.optimizer.add(self.placeholders)

    @property
    def top_first(self) -> bool:
        """Whether p steps before the g_k are taken."""
        return self.cfg.own(SplitNNOptions).top_gradient == "after"

    def protocol(self) -> Protocol:
        """Agree on who has which rows, where some lack them; train."""
        yield from agree_keys(self.cfg)
        yield from train(self)

    def step(self, rows: Array, y: Labels) -> Protocol:
        """Train all parties on one batch; return the one loss."""
        replies = yield ask("embed", rows, own=lambda: self.embed_rows(rows))
        E = [replies.own, *self.received(replies, rows)]
        self.here = self.present(rows, training=True)
        L, g = self.compute(lambda: self.down_to_embeddings(E, y))
        yield tell_each("update", g[1:], own=lambda: self.learn(E[0], g[0]))
        return [L]

    def down_to_embeddings(self, E: Sequence[Tensor], y: Labels) -> tuple[float, list[Tensor]]:
        """Return L and dL/dE_k, k = 0..K.

        The top model keeps its own gradients, or has stepped.
        """
        L, g = self.through_top(E, y)
        if self.top_first:
            self.optimizer.step(of=2)
            _, g = self.through_top(E, y)
            self.optimizer.zero()
        return L, g

    def through_top(self, E: Sequence[Tensor], y: Labels) -> tuple[float, list[Tensor]]:
        """Go once forward and backward through the top model."""
        leaves = [E_k.detach().requires_grad_() for E_k in E]
        self.optimizer.zero()
        L = self.loss(self.predict(leaves), y)
        L.backward()
        return L.item(), [leaf.grad for leaf in leaves if leaf.grad is not None]

    def learn(self, E_0: Tensor, g_0: Tensor) -> None:
        """Go on backward through h_0, and step."""
        E_0.backward(g_0)
        self.optimizer.step(of=2 if self.top_first else 1)

    def predict(self, E: Sequence[Tensor]) -> Tensor:  # (K + 1) times (B, D) -> (B, C)
        """Return R."""
        return self.decide(torch.cat(self.filled(E), 1))

    def filled(self, E: Sequence[Tensor]) -> list[Tensor]:
        """Return E_0 and, for each row, E_k or the placeholder e_k."""
        here = [None] * len(E) if self.here is None else [None, *self.here.T]
        return [
            E_k if rows is None else torch.where(rows[:, None], E_k, self.placeholders[k - 1])
            for k, (E_k, rows) in enumerate(zip(E, here, strict=True))
        ]

    def received(self, replies: Replies, rows: Array) -> list[Tensor]:
        """Return the passive parties' embeddings, each (B, D)."""
        return replies.tensors

    def infer(self, rows: Array) -> Protocol:
        """Return the one prediction for some rows."""
        replies = yield ask(
            "embed_only", rows, own=lambda: self.embed_rows(rows), purpose="evaluation"
        )
        E = [replies.own, *self.received(replies, rows)]
        self.here = self.present(rows)
        R = self.compute(lambda: self.predict(E), training=False)
        return [R]
