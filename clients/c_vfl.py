"""Compressed-VFL, passive party; notation and header in `strategies.c_vfl`.

Its network's decision net is not used.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from vfl_flower.api import Lessons, Party, floats, gradients, labels, messages, phase, rows
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ProtocolError
from vfl_flower.learning.compression import (
    compression_of,
    relative_error,
    restore_tensors,
    tensors_layout,
)
from vfl_flower.learning.networks.factory import top_model

from .fedbcd import FedBCDClient

if TYPE_CHECKING:
    from strategies.specs.c_vfl import CVFLOptions


class CVFLClient(FedBCDClient):
    """Sends compressed embeddings, and takes Q steps on the reply."""

    options: "CVFLOptions"
    remembers = (*FedBCDClient.remembers, "lessons")

    def __init__(self, party: Party) -> None:
        super().__init__(party)
        self.compression = compression_of(self.options.upload_compression, self.cfg.embedding_dim)
        classes = self.data.classes
        self.lessons = Lessons(self.cfg, classes)
        with self.randomness.building():  # what it starts from is overwritten, and nobody's draw
            width, layers = self.cfg.holders * self.cfg.embedding_dim, self.cfg.top_layers or 1
            self.top = top_model(self.cfg, 0, width, classes, layers).requires_grad_(False)
        self.randomness.attach(self.top)

    @property
    def largest_class_weight(self) -> float:
        """The bound of a class's weight, with room for rounding."""
        return self.residuals.most * (1 + 1e-6)

    @phase(takes=floats("C", low=0, most="largest_class_weight", name="class weights"), most=1)
    def weigh(self, weights: Tensor) -> None:  # (C,) ->
        """Take the weights of the classes, with which the loss is descended."""
        self.lessons.class_weights = weights

    @phase(
        takes=rows("batch"),
        gives=(floats("B", "D", name="E_k"), floats(low=0, name="error")),
        sends=("embedding", "figure"),
    )
    def embed(self, rows: Tensor) -> tuple[Tensor, Array]:  # (B,) int32 -> C(E_k), () float32
        """Begin Q steps: C(E_k), and the relative squared error of that."""
        E_k = self.tape.start("embed", rows)
        sent = self.compression.restore(self.compression.compress(E_k), len(rows))
        return E_k, np.array(relative_error(E_k, sent), np.float32)

    @phase(
        after="embed",
        takes=gradients("g_k (B, D) float32, or compressed", "layout_of_gradient"),
    )
    def update(self, *given: Tensor) -> None:  # C'(g_k) ->
        """Take Q steps on dL/dE_k, as it was before the first."""
        rows, _ = self.tape["embed"]
        (g_k,) = self.sent_down([(len(rows), self.cfg.embedding_dim)], given)
        super().update(g_k)

    @phase(
        after="embed",
        takes=(
            labels("B"),
            messages("weights of p, or compressed", "layout_of_top"),
            messages("all C(E_j)", "layout"),
        ),
    )
    def descend(self, y: Tensor, *given: Tensor) -> None:
        """Take Q steps on the loss itself.

        Training labels, p's weights, every C(E_j) ->
        """
        if not self.options.share_labels:
            raise ProtocolError("labels arrived, and share-labels is off in this party's run")
        weights, count = self.top.state_dict(), len(self.layout_of_top(len(y)))
        read = self.sent_down(self.shapes_of_top(), given[:count])
        self.top.load_state_dict(dict(zip(weights, read, strict=True)))
        E, labels = self.everybodys(given[count:], len(y)), self.lessons.read(y)
        for E_k in self.embeddings():
            E[self.cfg.holders - self.parties + self.rank] = E_k
            R = self.top(torch.cat(E, 1))
            self.lessons.loss(R, labels).backward()

    def layout(self, rows: int) -> list[tuple[str, tuple[int, ...]]]:
        """Return dtype and shape of each array of all parties' compressed embeddings."""
        return self.cfg.holders * self.compression.layout(rows)

    def readable(self, phase: str, arrays: Sequence[Array], rows: int) -> Sequence[Array]:
        """Return g_k decompressed, and other arrays as they came."""
        if phase != "update":
            return arrays
        shapes, text = [(rows, self.cfg.embedding_dim)], self.options.downlink_compression
        return [each.numpy() for each in restore_tensors(text, shapes, arrays)]

    def layout_of_gradient(self, rows: int) -> list[tuple[str, tuple[int, ...]]]:
        """Return dtype and shape of each array of one gradient, (B, D)."""
        return tensors_layout(self.options.downlink_compression, [(rows, self.cfg.embedding_dim)])

    def layout_of_top(self, _: int) -> list[tuple[str, tuple[int, ...]]]:
        """Return dtype and shape of each array of p's weights."""
        return tensors_layout(self.options.downlink_compression, self.shapes_of_top())

    def shapes_of_top(self) -> list[tuple[int, ...]]:
        """Return the shapes of p's weights."""
        return [tuple(each.shape) for each in self.top.state_dict().values()]

    def sent_down(self, shapes: list[tuple[int, ...]], given: tuple[Tensor, ...]) -> list[Tensor]:
        """Read tensors that the active party compressed as `downlink` says."""
        arrays = [each.numpy() for each in given]
        return restore_tensors(self.options.downlink_compression, shapes, arrays)

    def everybodys(self, messages: tuple[Tensor, ...], rows: int) -> list[Tensor]:
        """Read all parties' compressed embeddings, each (B, D)."""
        each = len(self.compression.layout(rows))
        arrays = [message.numpy() for message in messages]
        parts = [arrays[n : n + each] for n in range(0, len(arrays), each)]
        return [self.compression.restore(part, rows) for part in parts]
