"""FDML, passive party; notation and header in `strategies.fdml`.

*It is given the labels of all training rows.*
"""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from vfl_flower.api import Lessons, Party, floats, labels, phase, rows
from vfl_flower.common.errors import ProtocolError
from vfl_flower.learning.losses import residuals

from .agg_vfl import AggVFLClient

if TYPE_CHECKING:
    from strategies.specs.fdml import FDMLOptions


class FDMLClient(AggVFLClient):
    """Predicts from its own columns, learns from sum and labels."""

    options: "FDMLOptions"

    remembers = (*AggVFLClient.remembers, "labels", "lessons")

    def __init__(self, party: Party) -> None:
        super().__init__(party)
        self.divisor = self.options.divisor(self.cfg.holders)
        self.lessons = Lessons(self.cfg, self.data.classes)
        self.labels = torch.empty(0)  # (rows of all parties,), or (..., C); 0 where none was given

    @phase(takes=(rows("train"), labels("N")), most=1)
    def hold(self, rows: Tensor, y: Tensor) -> None:  # (N,) int32, (N,) or (N, C) ->
        """Take the labels of the training rows."""
        given = self.lessons.read(y)
        self.lessons.balance(given)
        self.labels = given.new_zeros(len(self.x), *given.shape[1:])
        self.labels[rows] = given

    @phase(after="predict", takes=floats("B", "C", name="R"))
    def update(self, R: Tensor) -> None:  # (B, C) ->
        """Learn from the gradient at everybody's sum."""
        if not len(self.labels):
            raise ProtocolError("a step came, and no labels before it")
        rows, _ = self.tape["predict"]
        (g,), _ = residuals(self.lessons.loss, [R], self.labels[rows])
        super().update(g / self.divisor)
