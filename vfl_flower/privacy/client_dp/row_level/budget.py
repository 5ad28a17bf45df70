"""Privacy budget of single rows: uploads and gradients that one row enters."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.party_data import Rows
from vfl_flower.learning.schedule import planned_evaluations, steps_per_epoch
from vfl_flower.privacy.client_dp.budget import OF_NO_EPSILON, Budget
from vfl_flower.privacy.client_dp.gaussian import Gaussian
from vfl_flower.privacy.client_dp.row_level.upload_log import KINDS, RowUploads
from vfl_flower.privacy.client_dp.upload_log import Counts

_OF_A_BATCH = 2
"""Mechanisms that a row enters by being in a batch: the upload, and the gradient of the network."""


@dataclass(frozen=True)
class RowBudget(Budget):
    """Noise of a run's uploads and gradients, and their number per row.

    The adjacency is that of one row of one party. Mechanisms on other rows cost it nothing: the
    budget is that of the row which enters most, and `Counts` has its numbers.
    """

    covers: ClassVar[str] = (
        "each single row of each passive party's columns, as they are encoded, against everything "
        "that the party sends in this run, under zero-out adjacency: if the row's part of every "
        "upload and of every gradient of the party's network were zero, so that it were noise "
        "alone, others' view would be at most exp(epsilon) times as likely, but for delta"
    )
    excludes: ClassVar[str] = (
        "a party's data as a whole, and what many rows say alike; the same person's rows of other "
        "numbers or parties, whose mechanisms add up; scales, medians and categories by which "
        "columns are encoded, which follow from all training rows; published weights that the row "
        "was in, and whatever a network of one's own keeps of it outside its parameters; "
        f"{OF_NO_EPSILON}"
    )
    unit: ClassVar[str] = "uploads and gradients of a row"
    by_row: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = KINDS

    @classmethod
    def plan(cls, cfg: RunConfig, rows: Rows) -> Counts:
        """Count the busiest party's uploads, and the mechanisms of its busiest row."""
        messages = super().plan(cfg, rows)
        held_out = planned_evaluations(cfg, rows) if len(rows["validation"]) else 0
        each = _of_a_row(cfg, cfg.epochs, max(held_out, min(len(rows["test"]), 1)))
        return Counts({**messages, **each})

    @classmethod
    def least(cls, cfg: RunConfig, rows: Rows) -> Counts:
        """Count the uploads without which a run has no result."""
        return Counts({**super().least(cfg, rows), **_of_a_row(cfg, min(cfg.epochs, 1), 1)})

    @cached_property
    def of_gradients(self) -> Gaussian:
        """Mechanism that noises gradients of rows, clipped each."""
        return Gaussian(self.sigma, self.cfg.dp_gradient_clip, by_row=True)

    def uploads_in(self, folder: Path) -> RowUploads:
        """Return the durable count of a party's rows, in its folder."""
        return RowUploads(folder, {"training": _OF_A_BATCH, "evaluation": _noised(self.cfg)})

    def noised(self, counts: Counts) -> int:
        """Return how many noised mechanisms the busiest row entered."""
        return counts["row"]

    def epsilon(self, counts: Counts) -> float:
        """Return the busiest row's epsilon; infinite if an upload was not noised."""
        clear = counts["evaluation"] and not self.noises("evaluation")
        return math.inf if clear else self.cost(counts["row"])

    def training_cost(self, counts: Counts) -> float:
        """Return the epsilon of one row's uploads and gradients in training."""
        return self.cost(_OF_A_BATCH * counts["row_training"])

    def after_step(self, sent: Counts, rows: Rows, step: int, *, asked: bool) -> Counts:
        """Return a party's counts after another step, its evaluation and test rows.

        A row is in one batch of an epoch. Batches that an earlier attempt repeated are taken to
        hold the rows of the next one.
        """
        messages = super().after_step(sent, rows, step, asked=asked)
        per_epoch = steps_per_epoch(self.cfg, len(rows["train"]))
        repeated = max(sent["row_training"] - math.ceil(step / per_epoch), 0)
        trained = max(sent["row_training"], asked * (step // per_epoch + 1 + repeated))
        each = _of_a_row(self.cfg, trained, sent["row_evaluation"] + 1)
        return messages | sent | Counts(each)


def _noised(cfg: RunConfig) -> int:
    """Return how many noised mechanisms an evaluation of a row is."""
    return int(cfg.dp_eval == "noised")


def _of_a_row(cfg: RunConfig, trained: int, evaluated: int) -> Mapping[str, int]:
    """Count the mechanisms of rows that are trained on, or held out."""
    most = max(_OF_A_BATCH * trained, _noised(cfg) * evaluated)
    return {"row_training": trained, "row_evaluation": evaluated, "row": most}
