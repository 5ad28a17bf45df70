"""Agg_VFL, active party.

Zhang et al. 2022, "Adaptive Vertical Federated Learning on Unbalanced Features", IEEE TPDS 33(12),
as the EASTER and PraVFed papers compare with it: predictions are aggregated, and nothing on top of
them is trained.

Every party k = 0..K (0 is active) has its own embedding net h_k and decision net p_k. For a batch
of B rows and C classes:

    R_k = p_k(h_k(x_k))       (B, C)   sent as [R_k], blinded, unless k = 0
    R   = R_0 + ... + R_K     (B, C)   the one prediction; the masks cancel in the sum
    g   = dL(R, y) / dR       (B, C)   the residual, the same for all

With ``adaptive-steps`` = Q > 0 party k, which has d_k columns, takes Q_k steps between exchanges,

    Q_k = max(1, round(Q n d_k / (d_0 + ... + d_K))),   n: how many parties have columns

so that they are Q on average, but for rounding. Passive party k descends <g, R_k>, the same g each
time; the active party descends L(R_0 + rest, y), with the rest R_1 + ... + R_K as it came.

Learns
    Active: the sum of the others' logits, but no R_k of another; under client-level privacy, of
    R_k that are clipped and noised at their parties. Passive k: which rows a batch holds, and g.
    *From g it reads the labels of the batch*, for its smallest entry stands at the true class, *and
    the prediction R* up to a constant a row (softmax(R) = B g + onehot(y); with weights of rows
    g is multiplied by them, and tells the product of weight and error). With
    ``active-columns = none`` R_0 is 0, and *with K = 2 that is the other party's R_k*.
    With ``adaptive-steps`` besides, active: d_k; passive k: Q_k, *its share of all columns* but for
    rounding. Further steps on one g show a party nothing new: it could take them in any run.
    With ``gradient-defence`` g is changed first, without a guarantee.
    With ``missing-parties = use`` R is over the parties that have the row, of which all learn the
    number, and passive k who has which row. With ``subset-training`` an epoch lies between two sums
    of a row over different parties: *their difference is one R_k, but for what that epoch changed.*
    With ``new-parties`` the other parties' sum is known from the model's run: *the active party
    learns the sum of the new parties' R_k, so that of a sole one R_k itself*, and passive k how
    that sum changes from one epoch to the next, by the prediction.
Assumes
    Semi-honest parties; the active party does not collude with all passive parties but
    one, nor with all but one of those that have a row; K >= 2 where logits are blinded.
Deviates
    By default all take one step between exchanges, as in the comparisons. The paper chooses each
    party's number of local updates by its number of features and its computational capability, so
    as to train fastest. Its text is not openly available, and only its abstract was read for this
    project: the formula is not known here, nor whether more columns mean more steps or fewer.
    ``adaptive-steps`` is this project's choice: in proportion to columns, from the first step to
    the last, for machines of one speed. What the parties descend in between is FedBCD's. A column
    is a number of a row, a pixel of an image. Logits are rounded to multiples of 2**-16 when
    blinded. With ``embedding-bound`` each row of a passive R_k is first scaled to that norm at
    most, and gradients pass through the scaling.
Costs
    One exchange a step. Per step and passive party 4BC bytes up, 4B + 4BC down, and framing. With
    ``adaptive-steps`` one exchange more before the first step, 8 bytes up and 8 down for each
    passive party.
"""

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from vfl_flower.api import (
    ActiveParty,
    Party,
    Protocol,
    agree_keys,
    ask,
    tell,
    tell_each,
    train,
)
from vfl_flower.common.codec import Array
from vfl_flower.learning.losses import Labels, residuals

from .specs.agg_vfl import AggVFLOptions


class AggVFL(ActiveParty):
    """One prediction, the sum of everybody's."""

    def protocol(self) -> Protocol:
        """Agree on keys, then train."""
        yield from agree_keys(self.cfg)
        yield from train(self)

    def predict(self, rows: Array) -> Tensor:  # (B,) -> (B, C)
        """Return R_0."""
        return self.decide(self.embed_rows(rows))

    def step(self, rows: Array, y: Labels) -> Protocol:
        """Train all parties on one batch; return the one loss."""
        replies = yield ask("predict", rows, own=lambda: self.predict(rows))
        rest = replies.sum()
        (g,), losses = residuals(self.loss, [replies.own + rest], y)
        yield tell("update", g, own=lambda: self.follow(rows, y, replies.own, rest, g))
        return losses

    def follow(self, rows: Array, y: Labels, R_0: Tensor, rest: Tensor, g: Tensor) -> None:
        """Learn from a batch, given the others' logits and the residual."""
        self.learn(R_0, g)

    def learn(self, R_0: Tensor, g: Tensor, of: int = 1) -> None:
        """Learn from the residual, in one of several steps."""
        self.optimizer.zero()
        R_0.backward(g)
        self.optimizer.step(of=of)

    def infer(self, rows: Array) -> Protocol:
        """Return the one prediction for some rows."""
        replies = yield ask(
            "predict_only", rows, own=lambda: self.predict(rows), purpose="evaluation"
        )
        return [replies.own + replies.sum()]


def local_steps(columns: Sequence[int], mean: int) -> list[int]:
    """Share out steps in proportion to columns, at least one each.

    Parameters
    ----------
    columns : sequence of int
        d_k of each party, 0 of one without columns; some positive.
    mean : int
        Q, of parties with columns.

    Returns
    -------
    list of int
        Q_k; halves are rounded up.
    """
    total, holders = sum(columns), sum(d > 0 for d in columns)
    return [max(1, (2 * mean * holders * d + total) // (2 * total)) for d in columns]


class AdaptiveAggVFL(AggVFL):
    """Agg_VFL with numbers of steps by columns, where asked for."""

    options: AggVFLOptions
    remembers = (*AggVFL.remembers, "steps")

    def __init__(self, party: Party, y: Tensor, rows: dict[str, Array]) -> None:
        super().__init__(party, y, rows)
        self.steps = 1  # Q_0

    def protocol(self) -> Protocol:
        """Agree on keys and numbers of steps, then train."""
        yield from agree_keys(self.cfg)
        if self.options.adaptive_steps and not self.progress.step:  # later, checkpoints have them
            yield from self.share_out()
        yield from train(self)

    def share_out(self) -> Protocol:
        """Ask for everybody's number of columns, and tell Q_k."""
        replies = yield ask("count_columns", purpose="control")
        own = 0 if self.cfg.blank(0) else self.x[0].numel()
        columns = [own, *(int(each) for each in replies.singles)]
        self.steps, *others = local_steps(columns, self.options.adaptive_steps)
        yield tell_each("set_steps", [np.array(Q_k) for Q_k in others], purpose="control")

    def follow(self, rows: Array, y: Labels, R_0: Tensor, rest: Tensor, g: Tensor) -> None:
        """Take Q_0 steps, with the others' logits as they came."""
        self.learn(R_0, g, of=self.steps)
        for _ in range(self.steps - 1):
            self.optimizer.zero()
            self.loss(self.predict(rows) + rest, y).backward()
            self.optimizer.step(of=self.steps)
