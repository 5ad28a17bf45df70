"""VIMADMM-J, active party.

Xie et al. 2022, "Improving Privacy-Preserving Vertical Federated Learning by Efficient
Communication with ADMM", arXiv:2207.10226, Algorithm 3: as `strategies.vimadmm`, but every party
keeps its head and sends logits.

Every party k = 0..K (0 is active) has an embedding net h_k and a decision net W_k, its head. For a
batch of B rows and C classes:

    o_k    = W_k(h_k(x_k))                                     (B, C)   blinded, unless k = 0
    a      = sum_k o_k                                         (B, C)   the masks cancel in the sum
    z      = argmin CE(z, y) - lambda . z + rho/2 |a - z|^2    (B, C)   Eq. 19, `algorithms.admm`
    lambda = lambda + rho (a - z)                              (B, C)   Eq. 20, one row a sample
    v      = lambda + rho (a - z)                              (B, C)   sent, the same for all
    W_k and h_k, tau times, descend, with o_k^0 the logits that were sent,
             (v . o_k + rho/2 |o_k - o_k^0|^2) / B, and beta |W_k|^2    Eq. 21 to 23

The paper sends lambda and s_k, from which v follows; see `algorithms.admm_heads`. rho, beta, tau
and eta, the heads' rate, are the options ``rho``, ``beta``, ``local-steps`` and ``head-rate``.
Unless given, eta is the party's learning rate. One gradient serves W_k and h_k; with
``head-steps = in-turns`` h_k has that of the W_k which has stepped. With ``participation`` below 1
a round asks some of the passive parties, and what the others last sent of those rows stands for
their o_k, zeros before that. Weights of rows act as in `strategies.vimadmm`.

Learns
    Active: the sum of the others' logits, but no o_k of another (with ``participation`` below 1,
    *every o_k*, in the clear). Passive k: which rows a batch
    holds, and v. *From v it reads the labels of the batch*: by Eq. 20, v is twice the new lambda
    less the one before, which was 0 at first; so it has each lambda in turn, and lambda =
    softmax(z) - onehot(y) is negative at the true class alone. *With that it has the prediction a*
    up to a constant a row. ``label-privacy`` is the remedy for labels. With
    ``active-columns = none`` o_0 is 0, and *with K = 2 the prediction less its own o_k is the other
    party's*. With ``missing-parties = use`` as Agg_VFL.
Assumes
    Semi-honest (honest-but-curious) parties; the active party does not collude with all passive
    parties but one; K >= 2 where logits are blinded.
Deviates
    Eq. 23 has the W_k after Eq. 22, in turns; W_k and h_k step together here, as in the authors'
    program. v is sent instead of lambda and s_k. z is exact to 1e-10 by Newton steps; the paper
    takes L-BFGS-B. Heads are the parties' decision nets, whatever they are, and take plain SGD
    steps. eta is the paper's, the rate of h_k, only where the party has SGD, with momentum or
    without: with an adaptive optimizer, or ``head-steps = in-turns``, which diverges at the paper's
    rate, it is 0.001 unless given; ``head-steps = together`` has that, too. The active party may
    have columns too. With label privacy the posterior of the noised label at the prediction a
    stands for onehot(y) in one round's z update. Logits are rounded to multiples of 2**-16 when
    blinded. With ``embedding-bound`` each row of a passive o_k is first scaled to that norm at
    most; o_k^0 is what was sent, and local steps scale nothing. With ``missing-parties = use`` a
    party's objective is the mean over the rows that it has.
Costs
    One exchange for tau steps of everybody. Per exchange and passive party 4BC bytes up, 4B + 4BC
    down, and framing. The active party keeps lambda of every row, 4NC bytes.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from vfl_flower.algorithms.admm import Duals
from vfl_flower.algorithms.admm_heads import check_head, descend_with_head
from vfl_flower.algorithms.embedding_cache import EmbeddingCache
from vfl_flower.api import Party, Protocol, Replies, ask, tell
from vfl_flower.common.codec import Array
from vfl_flower.learning.batching import asked
from vfl_flower.learning.losses import Labels

from .agg_vfl import AggVFL
from .specs.vimadmm_j import VIMADMMJOptions


class VIMADMMJ(AggVFL):
    """One prediction, the sum of everybody's; labels enter through z alone."""

    options: VIMADMMJOptions
    remembers = (*AggVFL.remembers, "duals", "known")

    def __init__(self, party: Party, y: Tensor, rows: dict[str, Array]) -> None:
        super().__init__(party, y, rows)
        check_head(self)
        cfg, classes = self.cfg, self.training_labels.classes
        self.duals = Duals(len(y), classes, self.options.rho)
        self.known = EmbeddingCache.of_run(cfg, len(y), classes)

    def halves(self, rows: Array) -> tuple[Tensor, Tensor]:  # (B,) -> (B, D), (B, C)
        """Return H_0 and o_0, each with its own part of the graph."""
        H_0 = self.embed_rows(rows)
        return H_0, self.decide(H_0.detach())

    def step(self, rows: Array, y: Labels) -> Protocol:
        """Take one round on a batch; return the loss before it."""
        to = asked(self.cfg, self.progress.step)
        replies = yield ask("predict", rows, own=lambda: self.halves(rows), to=to)
        H_0, o_0 = replies.own[0], replies.own[1].detach()
        a = o_0 + self.sum_of(replies, to, rows)
        z, dual = self.duals.update(torch.from_numpy(rows), a, self.training_labels.taught(a, y))
        v = dual + self.options.rho * (a - z)
        yield tell("update", v, own=lambda: self.descend(rows, H_0, o_0, v), to=to)
        return [self.loss(a, y).item()]

    def sum_of(self, replies: Replies, to: Sequence[int], rows: Array) -> Tensor:
        """Return the sum of the passive parties' latest logits, (B, C)."""
        if replies.whole:
            return replies.sum()
        replies.check_rows()
        return torch.stack(self.known.latest(replies, to, rows)).sum(0)

    def descend(self, rows: Array, H_0: Tensor, o_0: Tensor, v: Tensor) -> None:
        """Update W_0 and h_0 by Eq. 22 and 23, given columns."""
        if self.cfg.holders == self.parties:
            self.update(torch.from_numpy(rows), H_0, o_0, v)

    def update(self, rows: Tensor, H_0: Tensor, o_0: Tensor, v: Tensor) -> None:
        """Take tau steps of W_0 and of h_0."""
        descend_with_head(self, rows, H_0, o_0, v, self.options)
