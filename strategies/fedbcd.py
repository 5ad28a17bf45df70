"""FedBCD, active party.

Liu et al. 2022, "FedBCD: A Communication-Efficient Collaborative Learning Framework for Distributed
Features", IEEE Transactions on Signal Processing, arXiv:1912.11187. SplitNN with fewer exchanges:
all parties take Q steps (``local-steps``) between two.

Notation as in `strategies.splitnn`:

    E_k = h_k(x_k)                          (B, D)
    L   = loss(p(E_0 | E_1 | ... | E_K), y)
    g_k = dL / dE_k                         (B, D)   at the first of the Q steps

For Q steps the active party descends L by p and h_0, with the others' E_k as they came; with
``active-steps = one``, for one step, as VIM compares. Passive party k descends <g_k, h_k(x_k)>,
the same g_k each time. With ``top = sum`` p is E_0 + E_1 + ... + E_K, and D is C: the paper's form.

Learns
    As in SplitNN: the active party *every embedding E_k, in the clear*; passive party k which rows
    a batch holds, and g_k, *which tells the classes of the batch's rows apart*. With ``top = sum``
    g_k is dL / dR, whose negative entries stand at *the labels*.
Assumes
    As SplitNN.
Deviates
    It is the paper's parallel form, without its proximal term. The paper's prediction is a function
    of the sum of what the parties' models say, and nothing is trained on top, as with ``top =
    sum``. By default, as VIM compares (Xie et al. 2022, arXiv:2207.10226), p takes the embeddings
    side by side, and is trained.
Costs
    One exchange for Q steps of everybody; an epoch has as many exchanges as batches. Per exchange
    and passive party 4BD bytes up, 4B + 4BD down, and framing.
"""

from collections.abc import Sequence

from torch import Tensor

from vfl_flower.api import Protocol, ask, tell_each
from vfl_flower.common.codec import Array
from vfl_flower.learning.losses import Labels

from .specs.fedbcd import FedBCDOptions
from .splitnn import SplitNN


class FedBCD(SplitNN):
    """SplitNN with Q steps between exchanges."""

    options: FedBCDOptions
    top_first = False

    def step(self, rows: Array, y: Labels) -> Protocol:
        """Take Q steps of all parties on one batch.

        Returns the loss before them.
        """
        replies = yield ask("embed", rows, own=lambda: self.embed_rows(rows))
        E = [replies.own, *replies.tensors]
        self.here = self.present(rows, training=True)
        L, g = self.compute(lambda: self.through_top(E, y))
        yield tell_each("update", g[1:], own=lambda: self.descend(rows, y, E, g[0]))
        return [L]

    def descend(self, rows: Array, y: Labels, E: Sequence[Tensor], g_0: Tensor) -> None:
        """Take the steps of p and h_0 on one batch.

        The first step uses computed gradients.
        """
        Q = self.options.steps_of_active
        E[0].backward(g_0)
        self.optimizer.step(of=Q)
        for _ in range(Q - 1):
            self.optimizer.zero()
            self.loss(self.predict([self.embed_rows(rows), *E[1:]]), y).backward()
            self.optimizer.step(of=Q)
