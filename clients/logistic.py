"""Vertical GLM, passive party; notation and header in `strategies.logistic`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from torch import Tensor

from vfl_flower.algorithms.linear_models.block import Block, linear_model
from vfl_flower.algorithms.linear_models.evidence import check_bins
from vfl_flower.algorithms.linear_models.likelihood import is_regression, outputs_of
from vfl_flower.algorithms.linear_models.parts import FIGURES, KEPT, PARTS, limit_of, split
from vfl_flower.algorithms.linear_models.scorecard import own_files
from vfl_flower.algorithms.linear_models.solver import MOST_SCALE, SIGMA, STRENGTH
from vfl_flower.api import Party, PassiveParty, floats, phase, rows
from vfl_flower.common.errors import ProtocolError

if TYPE_CHECKING:
    from strategies.specs.logistic import LogisticOptions


class LogisticClient(PassiveParty):
    """Solves for its own coefficients, given everybody's residual."""

    options: "LogisticOptions"
    remembers = (*PassiveParty.remembers, "block")

    def __init__(self, party: Party) -> None:
        super().__init__(party)
        data, options = self.data, self.options
        self.outputs_sent = outputs_of(data.classes, several=data.several)
        shape = tuple(self.x.shape[1:])
        check_bins(options.evidence_bins, data)
        made = linear_model(shape, self.outputs_sent, intercept=False, bins=options.evidence_bins)
        self.net = made.to(self.x.device)
        constant = is_regression(data.task)
        self.block = Block(self.net, options, constant=constant)
        self.limit = limit_of(self.parties, self.cfg.row_bound)

    def sizes(self) -> Mapping[str, int]:
        """See `PassiveParty`; M is the number of linear predictors."""
        return {**super().sizes(), "M": self.outputs_sent}

    @phase(
        takes=(
            rows("batch"),
            floats(4, low=0, high=MOST_SCALE, name="told"),
            floats("B", "M", name="r"),
        ),
        gives=(floats("B", "M", name="Xi_k"), floats(PARTS, FIGURES, name="f_k")),
        sends=("logits", "logits"),
    )
    def direct(self, rows: Tensor, told: Tensor, r: Tensor) -> tuple[Tensor, Tensor]:
        """Begin a step: [Xi_k] and [f_k].

        (N,) int32, (4,), (N, M) -> (N, M), (4, 86), masked
        """
        if self.options.lasso and told[STRENGTH] > 0 and told[SIGMA] == 0:
            raise ProtocolError("a step of the lasso came without the weight that it shrinks by")
        X = self.block.columns(self.columns(rows), r)
        xi, figures = self.block.answer(X, r.double(), told.double(), self.limit)
        return xi.float(), split(figures, self.limit).float()

    @phase(after="direct", takes=floats(KEPT, name="a"))
    def move(self, share: Tensor) -> None:  # (KEPT,) ->
        """Take the step that the search found."""
        self.block.move(share.double())

    def further_files(self) -> Mapping[str, bytes]:
        """Return its own coefficients and its scorecard."""
        return own_files(self.cfg, self.data, self.block.model, self.options.scale)

    @phase(
        training=False, takes=rows("held-out"), gives=floats("B", "M", name="R_k"), sends="logits"
    )
    def predict_only(self, rows: Tensor) -> Tensor:  # (B,) int32 -> (B, M), masked
        """Predict without learning: x_k W_k."""
        return self.bounded(self.decide(self.embed_rows(rows)))
