"""Vertical GLM, passive party; notation and header in `strategies.logistic`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from vfl_flower.algorithms.linear_models.block import Block, linear_model
from vfl_flower.algorithms.linear_models.errors import CHUNK, COUNTED, OwnErrors, check_errors
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
    remembers = (*PassiveParty.remembers, "block", "errors")

    def __init__(self, party: Party) -> None:
        super().__init__(party)
        data, options = self.data, self.options
        self.outputs_sent = outputs_of(data.classes, several=data.several)
        shape = tuple(self.x.shape[1:])
        check_bins(options.evidence_bins, data)
        check_errors(options.standard_errors, data)
        made = linear_model(shape, self.outputs_sent, intercept=False, bins=options.evidence_bins)
        self.net = made.to(self.x.device)
        constant = is_regression(data.task)
        self.block = Block(self.net, options, constant=constant)
        self.errors = OwnErrors(wanted=options.standard_errors)
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
        X = self.errors.independent(self.block.columns(self.columns(rows), r))
        xi, figures = self.block.answer(X, r.double(), told.double(), self.limit)
        return xi.float(), split(figures, self.limit).float()

    @phase(after="direct", takes=floats(KEPT, name="a"))
    def move(self, share: Tensor) -> None:  # (KEPT,) ->
        """Take the step that the search found."""
        self.block.move(share.double())

    @phase(
        after="move",
        optional=True,
        gives=floats(1, 1, name="F_k / 1024"),
        sends="logits",
    )
    def count(self) -> Tensor:  # -> (1, 1), masked
        """Tell how many columns no others of its own determine."""
        self._check_wanted()
        return torch.tensor([[len(self.errors.kept) / COUNTED]])

    @phase(
        after=("move", "span"),
        optional=True,
        takes=rows("train"),
        gives=floats("N", CHUNK, name="X_k V_k"),
        sends="logits",
    )
    def span(self, rows: Tensor) -> Tensor:  # (N,) int32 -> (N, 8), masked
        """Multiply its columns by random numbers, which nobody else has."""
        self._check_wanted()
        X = self.block.model.columns(self.columns(rows)).cpu()
        return self.errors.span(X, self.limit).float()

    @phase(
        after="span",
        optional=True,
        takes=(floats("P", "F", name="Z"), floats(1, low=0, name="degrees of freedom")),
    )
    def find_errors(self, Z: Tensor, freedom: Tensor) -> None:  # (P, F), (1,) ->
        """Find the standard errors of its own coefficients."""
        if len(Z) != self.errors.V.shape[1]:
            raise ProtocolError("standard errors came for other random numbers than were drawn")
        self.errors.take(Z, float(freedom), len(self.errors.mask))

    def _check_wanted(self) -> None:
        if not self.options.standard_errors:
            raise ProtocolError("standard errors were asked for, and this run has none")

    def further_files(self) -> Mapping[str, bytes]:
        """Return its own coefficients and its scorecard."""
        errors = self.errors if self.errors.wanted else None
        model, scale = self.block.model, self.options.scale
        return own_files(self.cfg, self.data, model, scale, errors=errors)

    @phase(
        training=False, takes=rows("held-out"), gives=floats("B", "M", name="R_k"), sends="logits"
    )
    def predict_only(self, rows: Tensor) -> Tensor:  # (B,) int32 -> (B, M), masked
        """Predict without learning: x_k W_k."""
        return self.bounded(self.decide(self.embed_rows(rows)))
