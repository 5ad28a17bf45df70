"""Local training: the active party alone.

What it could do without the others, the bound below which no method should fall:

    R = p_0(h_0(x_0)),   p_0 and h_0 descend loss(R, y)

`Central` is the same program on everybody's columns.

Learns
    Nobody anything: passive parties answer the roll call and send nothing, whatever they hold.
Assumes
    Nothing of them.
Deviates
    There is no paper to deviate from.
Costs
    No exchange, and no byte.
"""

import torch
from torch import Tensor

from vfl_flower.algorithms.augmentation import augmented
from vfl_flower.api import ActiveParty, Protocol, train
from vfl_flower.common.codec import Array
from vfl_flower.learning.losses import Labels


class Local(ActiveParty):
    """The active party's own network on its own columns."""

    def protocol(self) -> Protocol:
        """Train."""
        yield from train(self)

    def predict(self, rows: Array) -> Tensor:  # (B,) -> (B, C)
        """Return R; a training with several views sees augmented images."""
        x = self.columns(rows)
        if self.net.training:
            x = augmented(self.cfg, self.epoch, len(self.x), torch.from_numpy(rows), x)
        return self.decide(self.embedding(x))

    def step(self, rows: Array, y: Labels) -> Protocol:
        """Train on one batch; return the loss."""
        yield from ()  # a protocol, although it asks for nothing
        return [self.compute(lambda: self.learn(rows, y))]

    def learn(self, rows: Array, y: Labels) -> float:
        """Descend the loss on one batch."""
        L = self.loss(self.predict(rows), y)
        self.optimizer.down(L)
        return L.item()

    def infer(self, rows: Array) -> Protocol:
        """Return the prediction for some rows."""
        yield from ()
        return [self.compute(lambda: self.predict(rows), training=False)]
