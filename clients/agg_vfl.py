"""Agg_VFL, passive party; notation and header in `strategies.agg_vfl`."""

from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from vfl_flower.api import Party, PassiveParty, Tape, floats, integers, phase, residual, rows
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ProtocolError

if TYPE_CHECKING:
    from strategies.specs.agg_vfl import AggVFLOptions


class AggVFLClient(PassiveParty):
    """Predicts from its own columns, learns from the sum's residual."""

    components = (Tape,)
    tape: Tape

    def __init__(self, party: Party) -> None:
        super().__init__(party)
        self.tape.passes = {"predict": self.logits}

    def logits(self, rows: Tensor) -> Tensor:  # (B,) -> (B, C)
        """Return R_k, each row within the bound."""
        return self.bounded(self.decide(self.embed_rows(rows)))

    @phase(takes=rows("batch"), gives=floats("B", "C", name="R_k"), sends="logits")
    def predict(self, rows: Tensor) -> Tensor:  # (B,) int32 -> (B, C), masked
        """Begin a step: [R_k]."""
        return self.tape.start("predict", rows)

    @phase(after="predict", takes=residual("B", "C", name="g"))
    def update(self, g: Tensor) -> None:  # (B, C) ->
        """Learn from the residual."""
        self.optimizer.zero()
        self.tape.backward("predict", g)
        self.optimizer.step()

    @phase(
        training=False, takes=rows("held-out"), gives=floats("B", "C", name="R_k"), sends="logits"
    )
    def predict_only(self, rows: Tensor) -> Tensor:  # (B,) int32 -> (B, C), masked
        """Predict without learning."""
        return self.logits(rows)


class AdaptiveAggVFLClient(AggVFLClient):
    """Takes as many steps on one residual as its columns are worth."""

    options: "AggVFLOptions"
    remembers = (*AggVFLClient.remembers, "steps")

    def __init__(self, party: Party) -> None:
        super().__init__(party)
        self.steps = 1  # Q_k

    @phase(training=False, gives=integers(low=1), sends="control", most=1)
    def count_columns(self) -> Array:  # -> () int64
        """Return d_k, whatever values the columns hold."""
        self.adapts()
        return np.array(self.x[0].numel(), np.int64)

    @phase(training=False, takes=integers(low=1), most=1)
    def set_steps(self, Q_k: Tensor) -> None:  # () int64 ->
        """Take the number of steps between exchanges."""
        self.adapts()
        most = self.options.adaptive_steps * self.cfg.holders
        if int(Q_k) > most:
            raise ProtocolError(
                f"{int(Q_k)} steps between exchanges are more than the {most} of all parties"
            )
        self.steps = int(Q_k)

    def adapts(self) -> None:
        """Refuse numbers of steps in a run where every party takes one.

        Raises
        ------
        ProtocolError
            If ``adaptive-steps`` is 0.
        """
        if not self.options.adaptive_steps:
            raise ProtocolError("numbers of steps, and adaptive-steps is 0 in this party's run")

    @phase(after="predict", takes=residual("B", "C", name="g"))
    def update(self, g: Tensor) -> None:  # (B, C) ->
        """Take Q_k steps on the residual, as it was before the first."""
        if self.steps == 1:
            super().update(g)
            return
        rows, R_k = self.tape["predict"]
        for step in range(self.steps):
            self.optimizer.zero()
            (self.logits(rows) if step else R_k).backward(g)
            self.optimizer.step(of=self.steps)
