"""Prediction to columns, where the active party was given all networks.

The adversary of Luo et al. 2021, arXiv:2010.10152: after training it has every party's networks,
its own columns, and the joint predictions R of some rows. It needs no upload, so that no mask and
no noise on uploads of training stands in its way.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from vfl_flower.analysis.audit.attack import Adversary, Attack, Score, Target
from vfl_flower.analysis.audit.attacks.columns.recovery import Decoder, r_squared
from vfl_flower.analysis.audit.transcripts.joint_model import JointModel
from vfl_flower.analysis.audit.transcripts.stage import NO_PREDICTIONS, Stage
from vfl_flower.analysis.audit.transcripts.tables import table_of
from vfl_flower.common.codec import Array
from vfl_flower.common.names import party_name
from vfl_flower.parties.party import Party

ROWS = 300
"""Predicted rows, which nobody trained on, whose columns are sought."""


@dataclass(frozen=True, eq=False)
class Scene:
    """Predicted rows, and all that the adversary has of them.

    Attributes
    ----------
    stage : Stage
        The repeated run.
    """

    stage: Stage

    @property
    def part(self) -> str:
        """Rows that are sought: ``test``, or ``train`` where none are held out."""
        return "test" if "test" in self.stage.run.answers else "train"

    @property
    def rows(self) -> Array:
        """The predicted rows, (B,)."""
        return self.stage.run.answered[self.part][:ROWS]

    @property
    def outputs(self) -> Tensor:
        """R as the active party has it, (B, C)."""
        return self.stage.run.outputs[self.part][:ROWS]

    @property
    def auxiliary(self) -> Array:
        """Rows whose columns are known, (A,)."""
        rows: Array = self.stage.attacked.rows[self.stage.attacked.auxiliary]
        return rows

    @cached_property
    def shapes(self) -> dict[int, tuple[int, ...]]:
        """Shape of a row of each passive party."""
        return {each.rank: tuple(each.x.shape[1:]) for each in self.stage.run.passive}

    def own(self, rows: Array) -> Tensor:
        """Return the active party's columns: (B, width)."""
        return self.stage.run.active.columns(rows).cpu().flatten(1).nan_to_num(0.0)

    def others(self, rows: Array) -> Tensor:
        """Return all passive parties' columns side by side: (B, W)."""
        return torch.cat(
            [each.columns(rows).cpu().flatten(1) for each in self.stage.run.passive], 1
        )

    def apart(self, columns: Tensor) -> Mapping[int, Tensor]:
        """Return columns by rank, in their shapes: (B, W)."""
        widths = [prod(each) for each in self.shapes.values()]
        pairs = zip(self.shapes.items(), columns.split(widths, 1), strict=True)
        return {rank: part.unflatten(1, shape) for (rank, shape), part in pairs}

    def predict(self, columns: Tensor) -> Tensor:
        """Predict the rows with other columns: (B, W) -> (B, C)."""
        return JointModel(self.stage.run, self.rows)(self.apart(columns))


class KnownModels(Attack):
    """Columns from predictions, with every network at hand.

    The baseline is a regression from the active party's columns, taught by the auxiliary rows.
    """

    target, adversary = Target.COLUMNS, Adversary.INFORMED
    scene: ClassVar[type[Scene]] = Scene
    """All that it has."""

    @abstractmethod
    def columns(self, scene: Scene) -> Tensor:
        """Guess all passive parties' columns of the predicted rows: (B, W)."""

    def applies(self, stage: Stage) -> str:
        """Refuse runs without predictions, and those that no gradient passes through."""
        if not stage.run.answers:
            return NO_PREDICTIONS
        if reason := stage.lacks_uploads:
            return reason
        if stage.uploads[0].kind == "maps":
            return "feature maps are kept by row, and no prediction is made of them anew"
        compressed = stage.cfg.options.upload_compression != "none"
        return "no gradient passes through compressed uploads" if compressed else ""

    def run(self, stage: Stage) -> Score:
        """Return R² of the party that is told best beyond the baseline."""
        scene = self.scene(stage)
        guessed, found = scene.apart(self.columns(scene)), []
        for party in stage.run.passive:
            true = table_of(party.columns(scene.rows))
            guess = table_of(guessed[party.rank])
            after = r_squared(true, guess) if np.isfinite(guess).all() else 0.0
            before = from_own_columns(scene, party)
            found.append((after - before, after, before, party.rank))
        _, after, before, rank = max(found)
        return Score("R²", after, before, "own columns", party_name(rank), f"{scene.part} rows")


def from_own_columns(scene: Scene, party: Party) -> float:
    """Return R² of a regression from the active party's columns."""
    rows = np.concatenate([scene.auxiliary, scene.rows])
    known = np.arange(len(rows)) < len(scene.auxiliary)
    own = table_of(scene.own(rows))
    return Decoder(known).success(own, table_of(party.columns(rows).nan_to_num(0.0)))
