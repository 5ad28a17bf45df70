"""Agg_VFL, active party.

Zhang et al. 2022, "Adaptive Vertical Federated Learning on Unbalanced Features", IEEE TPDS 33(12),
as the EASTER and PraVFed papers compare with it: predictions are aggregated, and nothing on top of
them is trained.

Every party k = 0..K (0 is active) has its own embedding net h_k and decision net p_k. For a batch
of B rows and C classes:

    R_k = p_k(h_k(x_k))       (B, C)   sent as [R_k], blinded, unless k = 0
    R   = R_0 + ... + R_K     (B, C)   the one prediction; the masks cancel in the sum
    g   = dL(R, y) / dR       (B, C)   the residual, the same for all

Learns
    Active: the sum of the others' logits, but no R_k of another; under client-level privacy, of
    R_k that are clipped and noised at their parties. Passive k: which rows a batch holds, and g.
    *From g it reads the labels of the batch*, for its smallest entry stands at the true class, *and
    the prediction R* up to a constant a row (softmax(R) = B g + onehot(y); with weights of rows
    g is multiplied by them, and tells the product of weight and error). With
    ``active-columns = none`` R_0 is 0, and *with K = 2 that is the other party's R_k*.
Assumes
    Semi-honest parties; the active party does not collude with all passive parties but
    one; K >= 2 where logits are blinded.
Deviates
    The paper adapts how often each party computes to how many columns it holds; here all compute
    in every step, as in the comparisons. Logits are rounded to multiples of 2**-16 when blinded.
    With ``embedding-bound`` each row of a passive R_k is first scaled to that norm at most, and
    gradients pass through the scaling.
Costs
    One exchange a step. Per step and passive party 4BC bytes up, 4B + 4BC down, and framing.
"""

from torch import Tensor

from vfl_flower.api import ActiveParty, Protocol, agree_keys, ask, tell, train
from vfl_flower.common.codec import Array
from vfl_flower.learning.losses import Labels, residuals


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
        R = replies.own + replies.sum()
        (g,), losses = residuals(self.loss, [R], y)
        yield tell("update", g, own=lambda: self.learn(replies.own, g))
        return losses

    def learn(self, R_0: Tensor, g: Tensor) -> None:
        """Learn from the residual."""
        self.optimizer.zero()
        R_0.backward(g)
        self.optimizer.step()

    def infer(self, rows: Array) -> Protocol:
        """Return the one prediction for some rows."""
        replies = yield ask(
            "predict_only", rows, own=lambda: self.predict(rows), purpose="evaluation"
        )
        return [replies.own + replies.sum()]
