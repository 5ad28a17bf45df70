"""VIMADMM, active party.

Xie et al. 2022, "Improving Privacy-Preserving Vertical Federated Learning by Efficient
Communication with ADMM", arXiv:2207.10226, Algorithm 1.

Every party k = 0..K (0 is active) has an embedding net h_k, and the active party keeps a head W_k
for each. For a batch of B rows, embedding width D and C classes:

    H_k    = h_k(x_k)                                          (B, D)
    a      = sum_k H_k W_k                                     (B, C)   the one prediction
    z      = argmin CE(z, y) - lambda . z + rho/2 |a - z|^2    (B, C)   Eq. 5, `algorithms.admm`
    lambda = lambda + rho (a - z)                              (B, C)   Eq. 6, one row a sample
    s_k    = z - (a - H_k W_k)                                 (B, C)   Eq. 8, by the old W_k
    W_k    = W_k - eta (2 beta W_k + H_k^T (lambda + rho (a - z)) / B)  Eq. 7, one SGD step
    v_k    = lambda - rho (s_k - o_k^0)                        (B, C)   sent, o_k^0 = H_k W_k
    h_k    descends, tau times, with o_k = h_k(x_k) W_k,
             (v_k . o_k + rho/2 |o_k - o_k^0|^2) / B                    Eq. 9

The paper sends lambda and s_k, from which v_k follows; see `algorithms.admm_heads`. rho, beta, eta
and tau are the options ``rho``, ``beta``, ``head-rate`` and ``local-steps``. With ``heads = ridge``
W_k goes a share eta of the way to the minimum of Eq. 7; with ``top-layers`` of 2 or more, heads are
not linear: W_k(H_k) stands for H_k W_k. Unless given, eta is the active party's learning rate. With
``active-columns = none`` there is no H_0. With ``participation`` below 1 a round asks some of the
passive parties, and what the others last sent of those rows stands for their H_k, zeros before
that. With weights of rows (``class-weights``) w CE(z, y) stands in Eq. 5 for CE(z, y), and lambda
becomes w (softmax(z) - onehot(y)). With ``residual = new-heads`` s_k is z less what the other new
heads say.

Learns
    Active: *every embedding H_k, of every row, in the clear*; nothing blinds them, for each head
    needs its own. Who knows the weights of h_k, as all do if they are public, can solve H_k for
    party k's columns.
    Passive k: which rows a batch holds, W_k, and v_k. *From v_k it reads the labels of the batch*:
    by Eq. 7, v_k is linear in v = lambda + rho (a - z) and in what it knows, so it solves for v; by
    Eq. 6, v is twice the new lambda less the one before, which was 0 at first. So it has each
    lambda in turn, and lambda = softmax(z) - onehot(y), the loss's gradient at z, is negative at
    the true class alone. *With that it has the prediction a*, up to a constant a row. With
    ``residual = new-heads``, ridge or deep heads it solves less exactly, and reads them all the
    same. The remedy is ``label-privacy``.
Assumes
    Semi-honest (honest-but-curious) parties; passive parties that may show the active one their
    embeddings.
Deviates
    v_k is sent instead of lambda and s_k. Eq. 8 as printed has s_k by the heads after Eq. 7, which
    diverges at the paper's head rate; here s_k is of the forward pass, with its dropout, that z and
    lambda are of, as in the authors' program. z is exact to 1e-10 by Newton steps; the paper takes
    L-BFGS-B. The heads' regulariser is the squared norm; the h_k have none. The active party may
    have columns too. With label privacy the posterior of the noised label at the prediction a
    stands for onehot(y) in one round's z update. Deep heads drop out in local steps, too, as in
    the authors' program; with ``residual = new-heads`` they do not. eta is the paper's, the rate of
    the networks, only where the active party has SGD, with momentum or without: with an adaptive
    optimizer, or ``residual = new-heads``, it is 0.001 unless given. An adaptive optimizer's usual
    rate is divided by tau.
Costs
    One exchange for tau steps of everybody. Per exchange and passive party 4BD bytes up,
    4B + 4BC + 4DC down, and framing. The active party keeps lambda of every row, 4NC bytes.
"""

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn

from vfl_flower.algorithms.admm import Duals
from vfl_flower.algorithms.admm_heads import (
    descend,
    head_of,
    norms,
    rate_of_head,
    solve_head,
    step_head,
)
from vfl_flower.algorithms.embedding_cache import EmbeddingCache
from vfl_flower.api import ActiveParty, Party, Protocol, ask, tell_each, train
from vfl_flower.common.codec import Array
from vfl_flower.common.names import party_name
from vfl_flower.learning.batching import asked
from vfl_flower.learning.losses import Labels

from .specs.vimadmm import VIMADMMOptions


class VIMADMM(ActiveParty):
    """One prediction, the sum of all heads; labels enter through z."""

    options: VIMADMMOptions
    remembers = (*ActiveParty.remembers, "duals", "known")

    def __init__(self, party: Party, y: Tensor, rows: dict[str, Array]) -> None:
        super().__init__(party, y, rows)
        cfg, classes = self.cfg, self.training_labels.classes
        self.duals = Duals(len(y), classes, self.options.rho)
        self.known = EmbeddingCache.of_run(cfg, len(y), cfg.embedding_dim)
        with self.randomness.building():
            heads = [
                head_of(cfg.embedding_dim, classes, cfg.top_layers or 1) for _ in range(cfg.holders)
            ]
        self.heads = nn.ModuleList(heads)
        self.net.add_module("heads", self.heads)  # they are among its weights
        self.randomness.attach(self.heads)

    def protocol(self) -> Protocol:
        """Train."""
        yield from train(self)

    def step(self, rows: Array, y: Labels) -> Protocol:
        """Take one round on a batch; return the loss before it."""
        to = asked(self.cfg, self.progress.step)
        replies = yield ask("embed", rows, own=lambda: self.embed_rows(rows), to=to)
        H = self.embeddings(replies.own.detach(), self.known.latest(replies, to, rows))
        L, v = self.compute(lambda: self.update_server(torch.from_numpy(rows), H, y))
        yield tell_each(
            "update",
            [
                (v[k - self.parties], *self.heads[k - self.parties].state_dict().values())
                for k in to
            ],
            own=lambda: self.learn(rows, replies.own, v[0]),
            to=to,
        )
        return [L]

    def embeddings(self, own: Tensor, others: Sequence[Tensor]) -> list[Tensor]:
        """Return the H_k of all parties that have columns."""
        return [own, *others][-len(self.heads) :]

    def shares(self, H: Sequence[Tensor]) -> Tensor:  # (B, D) each -> (K + 1, B, C)
        """Return the o_k of all parties that have columns."""
        return torch.stack([head(H_k) for head, H_k in zip(self.heads, H, strict=True)])

    def predict(self, H: Sequence[Tensor]) -> Tensor:  # (B, D) each -> (B, C)
        """Return a, added up in the order of parties."""
        return self.shares(H).sum(0)

    def update_server(self, rows: Tensor, H: Sequence[Tensor], y: Labels) -> tuple[float, Tensor]:
        """Update z, lambda, heads; return the loss before, and the v_k."""
        self.heads.train()
        o = self.shares(H)
        a = o.sum(0)
        z, dual = self.duals.update(rows, a.detach(), self.training_labels.taught(a, y))
        slope = dual + self.options.rho * (a.detach() - z)
        self.heads.zero_grad()
        a.backward(slope / len(rows))
        self.update_heads(H)
        self.heads.eval()
        o_new = self.shares(H).detach()  # o_k^0: what parties know, who get the new heads alone
        if self.options.as_program:
            v = slope + self.options.rho * (o_new - o.detach())
        else:
            v = (dual + self.options.rho * (o_new.sum(0) - z)).expand_as(o_new)
        return self.loss(a, y).item(), v

    def update_heads(self, H: Sequence[Tensor]) -> None:
        """Update all heads by Eq. 7 on computed gradients.

        The regulariser's gradient is added here.
        """
        beta, rho, share = self.options.beta, self.options.rho, self.options.head_rate
        for head, H_k in zip(self.heads, H, strict=True):
            if self.options.heads == "ridge":
                solve_head(cast("nn.Linear", head), H_k, beta, rho, share or 1 / len(H))
            else:
                step_head(head, beta, rate_of_head(self, self.options))

    def learn(self, rows: Array, H_0: Tensor, v: Tensor) -> None:
        """Update h_0 by Eq. 9, if there are columns."""
        if len(self.heads) == self.parties:
            head = self.heads[0]
            o_0 = head(H_0).detach()
            descend(self, torch.from_numpy(rows), H_0, head, o_0, v, self.options)

    def infer(self, rows: Array) -> Protocol:
        """Return the one prediction for some rows."""
        replies = yield ask(
            "embed_only", rows, own=lambda: self.embed_rows(rows), purpose="evaluation"
        )
        H = self.embeddings(replies.own, replies.tensors)
        return [self.compute(lambda: self.predict(H), training=False)]

    def figures(self) -> dict[str, float]:
        """Return the norm of each head: how much its party counts."""
        first = self.parties - len(self.heads)
        return {f"head_of_{party_name(k)}": n for k, n in enumerate(norms(self.heads), first)}
