"""FDML, active party.

Hu et al. 2019, "FDML: A Collaborative Machine Learning Framework for Distributed Features", KDD, as
VIM compares with it (Xie et al. 2022, arXiv:2207.10226). *All parties hold the labels*: they are
handed out once, before the first step. Every party predicts from its own columns, and the sum is
the prediction.

Notation as in `strategies.agg_vfl`, for K + 1 parties:

    y                                         (N,)     given to every party; of the training rows
    R_k = p_k(h_k(x_k))                       (B, C)   sent as [R_k], blinded, unless k = 0
    R   = R_0 + ... + R_K                     (B, C)   the one prediction; it goes to all parties
    g   = dL(R, y) / dR_k = dL / dR           (B, C)   which each works out by itself

With ``prediction = mean`` R and g are divided by K + 1, the number of parties with columns; with
``active-columns = none`` there is no R_0, and that number is K.

With ``staleness`` = s > 0 a passive party is up to s steps behind. It sends every R_k in time, from
the network that it has by then, and takes all steps in order, each with the R that came with it, in
which its own R_k is put in anew. So step t of party k descends, with 0 <= t_j <= s,

    L(R_0(t) + [R_j as of step t - t_j] + R_k(t), y)        the sum over passive j other than k

After a step, its number of steps that wait may grow to a number drawn from seed, step and rank,
each of 0 to s as likely, and never to more than the steps that are left.

Learns
    Active: the sum of the others' logits, but no R_k of another.
    Passive k: *the labels of all training rows, which it is given*; which rows a batch holds, and
    R, so with its own R_k the sum of all others' logits, the active party's among them. With
    ``active-columns = none`` and K = 2 *that is the other party's R_k*. With ``staleness`` nothing
    more: the lags of all are public, as the seed is. With ``missing-parties = use`` as Agg_VFL; a
    party is given the labels of rows that it lacks, too.
Assumes
    Labels that every party may have. Else as Agg_VFL; K >= 2 where logits are blinded.
Deviates
    In the paper parties are some steps apart because some are slow, and a party waits only for one
    that is more than s steps behind; by default all take every step together here. With
    ``staleness`` the lags are a function of the seed, so that a run can be repeated: it shows what
    staleness does to a model, and saves no time. The active party is never behind, and a row's
    logits are always of the same step, never of the epoch before. Where training stops early, or
    with ``long-tail`` (a party does not know how many steps there are), steps that wait are not
    taken. VIM's text speaks of an average, its formula and its program sum, as Hu et al. do.
    With label privacy it is noised labels that are handed out, and the active party learns from
    the same ones. Logits are rounded to multiples of 2**-16 when blinded, and bounded by
    ``embedding-bound`` as Agg_VFL's.
    With ``class-weights`` every party weights the loss, by the labels that were handed out.
Costs
    One exchange a step. Per step and passive party 4BC bytes up, 4B + 4BC down; before the first
    4N + N down (4N + 4NC with Laplace noise); and framing. With ``staleness`` a passive party keeps
    up to s (4B + 8BC) bytes, and computes the logits of late steps twice.
"""

import torch
from torch import Tensor

from vfl_flower.api import Protocol, agree_keys, ask, tell, train
from vfl_flower.common.codec import Array
from vfl_flower.learning.losses import Labels, residuals

from .agg_vfl import AggVFL
from .specs.fdml import FDMLOptions


class FDML(AggVFL):
    """One prediction, the sum of everybody's, and labels that everybody holds."""

    options: FDMLOptions

    def divisor(self, rows: Array, *, training: bool = False) -> int | Tensor:  # (B,) -> (B, 1)
        """Return the divisor of the sum of each row's logits."""
        own = self.cfg.holders == self.parties
        return self.options.divisor(own + self.contributors(rows, training=training))

    def protocol(self) -> Protocol:
        """Agree on keys, send the labels, and train."""
        yield from agree_keys(self.cfg)
        if not self.progress.step:  # after that, checkpoints have them
            rows = self.rows["train"]
            yield tell("hold", rows, self.training_labels.published(torch.from_numpy(rows)))
        yield from train(self)

    def step(self, rows: Array, y: Labels) -> Protocol:
        """Train all parties on one batch; return the one loss."""
        replies = yield ask("predict", rows, own=lambda: self.predict(rows))
        divisor = self.divisor(rows, training=True)
        R = (replies.own + replies.sum()) / divisor
        (g,), losses = residuals(self.loss, [R], y)
        yield tell("update", R, own=lambda: self.learn(replies.own, g / divisor))
        return losses

    def infer(self, rows: Array) -> Protocol:
        """Return the one prediction for some rows."""
        (total,) = yield from super().infer(rows)
        return [total / self.divisor(rows)]
