"""EASTER, active party.

Wang et al. 2023, "EASTER: Embedding Aggregation-based Heterogeneous Models Training in Vertical
Federated Learning", arXiv:2310.13367, Algorithm 1.

Every party k = 0..K (0 is active) has its own embedding net h_k and decision net p_k. For a batch
of B rows, embedding width D and C classes:

    E_k = h_k(x_k)                      (B, D)   sent as [E_k], blinded, unless k = 0
    E   = (E_0 + ... + E_K) / (K + 1)   (B, D)   Eq. 7; the masks cancel in the sum
    R_k = p_k(E)                        (B, C)
    g_k = dL(R_k, y) / dR_k             (B, C)   the residual

Learns
    Active: E, the sum of the others' embeddings, and all R_k, but no E_k of another; from E and
    R_k it can fit each p_k. Under client-level privacy the E_k are clipped and noised, and R_k
    follows from E and g_k, which p_k alone has learnt from. Passive k: which rows a batch holds, E,
    and g_k. *From g_k it reads the labels of the batch*: the loss's gradient has its smallest entry
    at the true class, *and a row's weight*, if rows have some, for it knows R_k. With
    ``gradient-defence`` g_k is changed first, without a guarantee. All passive parties together
    learn E_0, which nothing hides from them. With ``missing-parties = use`` also: all, how many
    add to a row; passive k, who has which row. With ``subset-training`` an epoch lies between two
    sums of a row over different parties: *their difference is one party's E_k, but for what that
    epoch changed.* With ``new-parties`` the other parties' sum is known from the model's run: *the
    active party learns the sum of the new parties' E_k, so that of a sole one E_k itself*, and
    passive k how that sum changes from one epoch to the next. *Who knows the initial weights, as
    all do if they are public, can solve E for everybody's columns.*
Assumes
    Semi-honest parties; the active party does not collude with all passive parties but
    one, nor with all but one of those that have a row; K >= 2 where embeddings are blinded; private
    initial weights where columns are to stay hidden.
Deviates
    The paper sends the scalar loss down. A party without labels cannot differentiate it, so the
    residual is sent. Eq. 8 takes a probability per class: here the logistic function of each
    logit. It has no sum over classes, and does not say whether C terms are summed or averaged: here
    they are summed, in bits. With SGD a mean would be the same as a rate C times smaller (10 for
    ten classes), and nats as one 1.44 times smaller. h_k and p_k have one rate, the party's.
    Gradients reach a party's own h_k through its own share of E only, dE/dE_k = 1/(K + 1), as
    Algorithm 1 has it: h_k steps as if its rate were K + 1 times smaller. Embeddings are rounded to
    multiples of 2**-16 when blinded. With ``embedding-bound`` each row of a passive E_k is first
    scaled to that norm at most, and gradients pass through the scaling. With
    ``missing-parties = use`` the mean of Eq. 7 is over the parties that have the row, and the
    active one; a party that lacks it predicts R_k all the same. With ``new-parties`` the
    p_k of the model stay, and predict from a mean that they have not learnt; only new parties'
    models are trained.
Costs
    Two exchanges a step. Per step and passive party 4BD + 4BC bytes up, 4B + 4BD + 4BC down,
    and framing.
"""

from vfl_flower.api import ActiveParty, Protocol, agree_keys, ask, tell_each, train
from vfl_flower.common.codec import Array
from vfl_flower.learning.losses import Labels, residuals


class Easter(ActiveParty):
    """K + 1 models of different architecture out of one training."""

    default_loss = "binary-cross-entropy"

    def protocol(self) -> Protocol:
        """Agree on keys, then train."""
        yield from agree_keys(self.cfg)
        yield from train(self)

    def step(self, rows: Array, y: Labels) -> Protocol:
        """Train all parties on one batch; return their losses."""
        replies = yield ask("embed", rows, own=lambda: self.embed_rows(rows))
        E = (replies.own + replies.sum()) / (1 + self.contributors(rows, training=True))  # Eq. 7
        R = yield ask("predict", E, own=lambda: self.decide(E))
        L = self.loss(R.own, y)
        g, losses = residuals(self.loss, R.tensors, y)
        yield tell_each("update", g, own=lambda: self.optimizer.down(L))
        return [L.item(), *losses]

    def infer(self, rows: Array) -> Protocol:
        """Return every party's logits for some rows, the active party's first."""
        replies = yield ask(
            "embed_only", rows, own=lambda: self.embed_rows(rows), purpose="evaluation"
        )
        E = (replies.own + replies.sum()) / (1 + self.contributors(rows))
        R = yield ask("predict_only", E, own=lambda: self.decide(E), purpose="evaluation")
        return [R.own, *R.tensors]
