"""Compressed-VFL, active party.

Castiglia et al. 2022, "Compressed-VFL: Communication-Efficient Learning with Vertically Partitioned
Data", arXiv:2206.08330, Algorithm 1. FedBCD with fewer bytes: all parties take Q steps
(``local-steps``) between two exchanges, and embeddings travel compressed.

Notation as in `strategies.splitnn`, and C for the compression (`learning.compression`):

    E_k = h_k(x_k)                          (B, D)   sent as C(E_k), unless k = 0
    L   = loss(p(E_0 | C(E_1) | ... | C(E_K)), y)
    g_k = dL / dE_k                         (B, D)   at the first of the Q steps

For Q steps the active party descends L by p and h_0, with the others' C(E_k) as they came. Passive
party k descends <g_k, h_k(x_k)>, the same g_k each time; or, with ``share-labels``, its own

    L_k = loss(p(C(E_0) | ... | h_k(x_k) | ... | C(E_K)), y)   with p and the others' as they came.

Learns
    As in SplitNN, but C(E_k) in the place of E_k, and how large the error of each batch is.
    *With share-labels, every passive party is given the labels of the training rows, the top model
    p and everybody's compressed embeddings, the active party's included*; whoever knows the weights
    of a party's h can solve them for its columns.
Assumes
    As SplitNN. share-labels: labels that every party may have, and a top model of this package's.
Deviates
    The paper gives the labels to all parties; without share-labels, the default, g_k takes their
    place: one gradient for Q steps. g_k, p and labels are not compressed. The paper's vector
    quantiser is left out; the scalar one has its levels over each message's own range. Evaluation
    sees compressed embeddings too, for p has learnt from those. With label privacy it is the noised
    rows that are given away. With ``class-weights`` and share-labels the weights of classes, 4C
    bytes, are sent once before the first step.
Costs
    One exchange for Q steps of everybody; an epoch has as many exchanges as batches. Per exchange
    and passive party |C(E_k)| + 4 bytes up, 4B + 4BD down, and framing. With share-labels B (4BC
    with Laplace noise) + 4(K + 1)DC + 4C + (K + 1)|C(E_k)| in the place of 4BD.
"""

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn

from vfl_flower.api import Party, Protocol, Replies, Value, ask, tell, tell_each
from vfl_flower.common.codec import Array
from vfl_flower.learning.compression import Mean, compression_of
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
            given: list[Value] = [labels, *self.top_weights(), *arrays]
            yield tell("descend", *given, own=lambda: self.descend(rows, y, E, g[0]))
        else:
            yield tell_each("update", g[1:], own=lambda: self.descend(rows, y, E, g[0]))
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

    def received(self, replies: Replies, rows: Array) -> list[Tensor]:
        """Return the passive parties' decompressed embeddings, each (B, D)."""
        return self.restored(replies.arrays, rows)

    def figures(self) -> dict[str, float]:
        """Return the mean relative squared error of compression.

        |C(E_k) - E_k|^2 / |E_k|^2, over batches and passive parties.
        """
        return {"compression_error": self.error.value}
