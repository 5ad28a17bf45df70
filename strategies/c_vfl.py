"""Compressed-VFL, active party.

Castiglia et al. 2022, "Compressed-VFL: Communication-Efficient Learning with Vertically Partitioned
Data", arXiv:2206.08330, Algorithm 1. FedBCD with fewer bytes: all parties take Q steps
(``local-steps``) between two exchanges, and embeddings travel compressed.

Notation as in `strategies.splitnn`, C for the compression (`learning.compression`), and C' for that
of the downlink (``downlink``; as it is unless set):

    E_k = h_k(x_k)                          (B, D)   sent as C(E_k), unless k = 0
    L   = loss(p(E_0 | C(E_1) | ... | C(E_K)), y)
    g_k = dL / dE_k                         (B, D)   at the first of the Q steps; sent as C'(g_k)

For Q steps the active party descends L by p and h_0, with the others' C(E_k) as they came. Passive
party k descends <C'(g_k), h_k(x_k)>, the same each time; or, with ``share-labels``, its own

    L_k = loss(C'(p)(C(E_0) | ... | h_k(x_k) | ... | C(E_K)), y)

with the others' C(E_j) as they came. C'(p) are p's weights of before the Q steps, each matrix and
each vector compressed by itself. ``downlink = same``, C' = C, is the paper's.

Learns
    As in SplitNN, but C(E_k) in the place of E_k, and how large the error of each batch is; and
    C'(g_k) in the place of g_k, *which tells the classes apart as well*.
    *With share-labels, every passive party is given the labels of the training rows, the top model
    C'(p) and everybody's compressed embeddings, the active party's included*; whoever knows the
    weights of a party's h can solve them for its columns.
Assumes
    As SplitNN. share-labels: labels that every party may have, and a top model of this package's.
Deviates
    The paper gives the labels to all parties; without share-labels, the default, g_k takes their
    place: one gradient for Q steps. By default only embeddings are compressed; labels never are.
    Its quantisers, as the authors' program has them, divide by the message's largest number and add
    a dither that the receiver subtracts; here the levels and the lattice are over each message's
    own range, without dither, and the lattice has no more points than its bits can tell. Top-k
    keeps the largest numbers of each row, not the places, the same for all rows, of the largest
    gradients. Evaluation sees compressed embeddings too, for p has learnt from those. With label
    privacy it is the noised rows that are given away. With ``class-weights`` and share-labels the
    weights of classes, 4C bytes, are sent once before the first step.
Costs
    One exchange for Q steps of everybody; an epoch has as many exchanges as batches. Per exchange
    and passive party |C(E_k)| + 4 bytes up, 4B + |C'(g_k)| down (4B + 4BD by default), and framing.
    With share-labels B (4BC with Laplace noise) + |C'(p)| + (K + 1)|C(E_k)| in the place of
    |C'(g_k)|; |C'(p)| is 4(K + 1)DC + 4C by default, and each of the two by itself in the form of
    `learning.compression`: C rows of (K + 1)D numbers, and one row of C.
"""

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn

from vfl_flower.api import Party, Protocol, Replies, Value, ask, tell, tell_each
from vfl_flower.common.codec import Array
from vfl_flower.learning.compression import Mean, compress_tensor, compression_of
from vfl_flower.learning.losses import Labels

from .fedbcd import FedBCD
from .specs.c_vfl import CVFLOptions


class CVFL(FedBCD):
    """FedBCD with compressed embeddings; with `share_labels` parties minimise the loss itself."""

    options: CVFLOptions
    remembers = (*FedBCD.remembers, "error")

    def __init__(self, party: Party, y: Tensor, rows: dict[str, Array]) -> None:
        super().__init__(party, y, rows)
        self.compression = compression_of(self.options.upload_compression, self.cfg.embedding_dim)
        self.error = Mean()

    def protocol(self) -> Protocol:
        """Send class weights where parties with labels need them, and train."""
        weights = self.training_labels.weights_of_classes()
        if self.options.share_labels and weights is not None and not self.progress.step:
            yield tell("weigh", weights)  # after that, checkpoints have them
        yield from super().protocol()

    def step(self, rows: Array, y: Labels) -> Protocol:
        """Take Q steps of all parties on one batch.

        Returns the loss before them.
        """
        replies = yield ask("embed", rows, own=lambda: self.embed_rows(rows))
        messages = [self.noted(arrays) for arrays in replies.arrays]
        E = [replies.own, *self.restored(messages, rows)]
        L, g = self.compute(lambda: self.through_top(E, y))
        if self.options.share_labels:
            if self.cfg.holders == self.parties:
                messages = [self.compression.compress(replies.own.detach()), *messages]
            arrays = [array for message in messages for array in message]
            labels = self.training_labels.published(torch.from_numpy(rows))
            given: list[Value] = [labels, *self.sent_down(self.top_weights()), *arrays]
            yield tell("descend", *given, own=lambda: self.descend(rows, y, E, g[0]))
        else:
            each = [self.sent_down([g_k]) for g_k in g[1:]]
            yield tell_each("update", each, own=lambda: self.descend(rows, y, E, g[0]))
        return [L]

    def noted(self, arrays: Sequence[Array]) -> Sequence[Array]:
        """Note the error that a party tells, and return its message."""
        *message, error = arrays
        self.error.add(error.item())
        return message

    def restored(self, messages: Sequence[Sequence[Array]], rows: Array) -> list[Tensor]:
        """Return the passive parties' decompressed embeddings, each (B, D)."""
        return [self.compression.restore(message, len(rows)) for message in messages]

    def top_weights(self) -> list[Tensor]:
        """Return the top model's weights: (C, (K + 1) D) and (C,)."""
        return [
            weights.detach().cpu() for weights in cast("nn.Module", self.net.decide).parameters()
        ]

    def sent_down(self, tensors: Sequence[Tensor]) -> tuple[Array, ...]:
        """Write gradients or weights as `downlink` says, each by itself."""
        text = self.options.downlink_compression
        messages = [compress_tensor(text, tensor.detach()) for tensor in tensors]
        return tuple(array for message in messages for array in message)

    def received(self, replies: Replies, rows: Array) -> list[Tensor]:
        """Return the passive parties' decompressed embeddings, each (B, D)."""
        return self.restored(replies.arrays, rows)

    def figures(self) -> dict[str, float]:
        """Return the mean relative squared error of compression.

        |C(E_k) - E_k|^2 / |E_k|^2, over batches and passive parties.
        """
        return {"compression_error": self.error.value}
