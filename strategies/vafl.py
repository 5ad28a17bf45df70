"""VAFL, active party.

Chen et al. 2020, "VAFL: a Method of Vertical Asynchronous Federated Learning", arXiv:2007.06081, as
VIM compares with it (Xie et al. 2022, arXiv:2207.10226): embeddings are added up with weights that
are learnt, and the top model predicts from the sum.

Notation as in `strategies.splitnn`:

    E_k = h_k(x_k)                         (B, D)
    E   = alpha_0 E_0 + ... + alpha_K E_K  (B, D)   every alpha_k starts at 1 / (K + 1)
    L   = loss(p(E), y)                             p and alpha are the active party's
    g_k = dL / dE_k = alpha_k dL / dE      (B, D)   what party k learns from

With ``vafl-mode = synchronous`` every party takes part in every step. With ``asynchronous`` one
passive party does, chosen by the seed so that each does once in K steps; the others' E_j are the
latest of those rows, zero before the first.

Learns
    Active: *every embedding E_k, in the clear*; dL/dalpha_k needs each.
    Passive k: which rows a batch of its turn holds, and g_k, *which tells the classes of the
    batch's rows apart*.
Assumes
    As SplitNN.
Deviates
    In the paper a party is asynchronous because it is slow, and comes when it likes; here turns are
    a function of the seed, so that a run can be repeated. Its Gaussian noise on embeddings is left
    out. Evaluation asks all parties for embeddings of their present nets.
Costs
    One exchange a step. Per step and passive party that takes part 4BD bytes up, 4B + 4BD down, and
    framing. ``asynchronous`` keeps 4KND bytes of embeddings at the active party, for all N rows.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from vfl_flower.algorithms.embedding_cache import EmbeddingCache
from vfl_flower.api import Party, Protocol, ask, tell_each
from vfl_flower.common.codec import Array
from vfl_flower.common.names import party_name
from vfl_flower.learning.batching import asked
from vfl_flower.learning.losses import Labels
from vfl_flower.learning.networks.base import TopInput

from .splitnn import SplitNN


class VAFL(SplitNN):
    """One prediction from a sum of embeddings whose weights are learnt."""

    top_input = TopInput.ADDED
    top_first = False
    remembers = (*SplitNN.remembers, "known")

    def __init__(self, party: Party, y: Tensor, rows: dict[str, Array]) -> None:
        super().__init__(party, y, rows)
        self.known = EmbeddingCache.of_run(self.cfg, len(self.x), self.cfg.embedding_dim)
        self.alpha = nn.Parameter(torch.full((self.cfg.holders,), 1 / self.cfg.holders))
        self.net.register_parameter("aggregation_weights", self.alpha)
        self.optimizer.add(self.alpha)

    def step(self, rows: Array, y: Labels) -> Protocol:
        """Train the parties of this step on one batch; return the loss."""
        to = asked(self.cfg, self.progress.step)
        replies = yield ask("embed", rows, own=lambda: self.embed_rows(rows), to=to)
        E = [replies.own, *self.known.latest(replies, to, rows)]
        L, g = self.compute(lambda: self.through_top(self.held(E), y))
        g_0 = g[0] if len(g) == len(E) else torch.zeros_like(E[0])
        g_k = [g[k - self.parties] for k in to]
        yield tell_each("update", g_k, own=lambda: self.learn(E[0], g_0), to=to)
        return [L]

    def held(self, E: Sequence[Tensor]) -> Sequence[Tensor]:
        """Return the embeddings of the parties that have columns."""
        return E[-self.cfg.holders :]

    def predict(self, E: Sequence[Tensor]) -> Tensor:  # (K + 1) times (B, D) -> (B, C)
        """Return p(E)."""
        return self.decide((self.alpha.view(-1, 1, 1) * torch.stack(list(self.held(E)))).sum(0))

    def figures(self) -> dict[str, float]:
        """Return alpha_k of every party."""
        first = self.parties - self.cfg.holders
        return {f"weight_of_{party_name(k)}": a for k, a in enumerate(self.alpha.tolist(), first)}
