"""FDML, passive party; notation and header in `strategies.fdml`.

*It is given the labels of all training rows.*
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from vfl_flower.api import Lessons, Party, floats, labels, phase, rows
from vfl_flower.common.errors import ProtocolError
from vfl_flower.learning.batching import lag
from vfl_flower.learning.losses import residuals

from .agg_vfl import AggVFLClient

if TYPE_CHECKING:
    from strategies.specs.fdml import FDMLOptions


class FDMLClient(AggVFLClient):
    """Predicts from its own columns, learns from sum and labels."""

    options: "FDMLOptions"

    remembers = (*AggVFLClient.remembers, "labels", "lessons", "waiting")

    def __init__(self, party: Party) -> None:
        super().__init__(party)
        self.lessons = Lessons(self.cfg, self.data.classes)
        self.labels = torch.empty(0)  # (rows of all parties,), or (..., C); 0 where none was given
        self.waiting: Sequence[Sequence[Tensor]] = []  # rows, R_k as sent, R; the oldest first

    @property
    def divisor(self) -> int | Tensor:  # (B, 1)
        """Divisor of the sum of each row's logits."""
        own = self.cfg.holders == self.parties
        return self.options.divisor(own + self.contributors)

    @phase(takes=(rows("train"), labels("N")), most=1, every_row=True)
    def hold(self, rows: Tensor, y: Tensor) -> None:  # (N,) int32, (N,) or (N, C) ->
        """Take the labels of the training rows."""
        given = self.lessons.read(y)
        self.lessons.balance(given)
        self.labels = given.new_zeros(len(self.x), *given.shape[1:])
        self.labels[rows] = given

    @phase(after="predict", takes=floats("B", "C", name="R"), every_row=True)
    def update(self, R: Tensor) -> None:  # (B, C) ->
        """Learn from the gradient at everybody's sum."""
        if not len(self.labels):
            raise ProtocolError("a step came, and no labels before it")
        rows, R_k = self.tape["predict"]
        lagging = self.lag()
        if not lagging and not self.waiting:
            g = self.gradient(R, self.step_rows(rows))
            super().update(self.of_own_rows(g))
            return
        self.waiting = [*self.waiting, (rows, R_k.detach(), R)]
        while len(self.waiting) > lagging:
            self.catch_up()

    def lag(self) -> int:
        """Return how many steps may wait; none at the end."""
        step = int(self.optimizer.taken) + len(self.waiting)
        left = max(self.optimizer.steps - step - 1, 0)
        return min(lag(self.cfg.seed, step, self.rank, self.options.staleness), left)

    def gradient(self, R: Tensor, rows: Tensor) -> Tensor:  # (B, C), (B,) -> (B, C)
        """Return dL / dR_k."""
        (g,), _ = residuals(self.lessons.loss, [R], self.labels[rows])
        return g / self.divisor

    def catch_up(self) -> None:
        """Take the oldest step that waits, its own logits anew."""
        (rows, sent, R), *self.waiting = self.waiting
        R_k = self.logits(rows)
        self.optimizer.zero()
        R_k.backward(self.gradient(R + (R_k.detach() - sent) / self.divisor, rows))
        self.optimizer.step()
