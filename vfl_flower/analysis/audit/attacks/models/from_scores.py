"""Attacks by a reader of prediction files, whose probabilities may be rounded.

The active party computes outputs itself, and rounding hides nothing from it. A reader of files has
probabilities p alone, in multiples of a unit u, as ``score-digits`` says; u is that of float32
where they are not rounded. It is told all else, as in Luo et al. 2021, arXiv:2010.10152: all
networks, and the active party's columns. With a linear joint model and a Gaussian prior N(0, I) of
z, x = m + z basis, each class gives an equation but for a constant b of the row:

    log p = f(x_0, m) + z basis A + b + e,      e ~ N(0, (u / (sqrt(12) p))^2)

Its likeliest z solves (I + M V M^T) z = M V (log p - f(x_0, m)), M = basis A and
V = diag(v) - v v^T / sum v, v = 1 / var(e), which leaves b out. The generator of GRNA is taught
p itself, as in the paper.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from vfl_flower.analysis.audit.attack import Adversary
from vfl_flower.analysis.audit.attacks.columns.inversion import Prior
from vfl_flower.analysis.audit.attacks.labels.inference import classes_only
from vfl_flower.analysis.audit.attacks.models.equality_solving import EqualitySolving, slopes_of
from vfl_flower.analysis.audit.attacks.models.generative import Generative
from vfl_flower.analysis.audit.attacks.models.known import KnownModels, Scene
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.workflows.prediction import values_of

_UNIT = 2.0**-23
"""Of a number of float32 near 1."""


@dataclass(frozen=True, eq=False)
class ReadScene(Scene):
    """Predicted rows, and a file with their probabilities."""

    @cached_property
    def outputs(self) -> Tensor:
        """Probabilities p as they are written, (B, C)."""
        said = self.stage.run.answers[self.part][: len(self.rows)]
        written = values_of(self.stage.run.active.target, said, self.stage.cfg.score_digits)
        return torch.from_numpy(written)

    @property
    def unit(self) -> float:
        """U."""
        digits = self.stage.cfg.score_digits
        return 10.0**-digits if digits else _UNIT

    def predict(self, columns: Tensor) -> Tensor:
        """Predict the rows' probabilities with other columns: (B, W) -> (B, C)."""
        return self.stage.run.active.decoded(super().predict(columns)).softmax(1)


class FromScores(KnownModels):
    """Attack of a reader of prediction files."""

    adversary, scene = Adversary.INFORMED_RECIPIENT, ReadScene

    def applies(self, stage: Stage) -> str:
        """Refuse labels that are no classes, too."""
        return classes_only(stage) or super().applies(stage)


class GenerativeFromScores(FromScores, Generative):
    """Generator of columns that is taught written probabilities."""

    idea = "the generator learns from probabilities in a file, rounded or not"


class EqualityFromScores(FromScores, EqualitySolving):
    """Likeliest columns by the logarithms of written probabilities."""

    idea = "logarithms of probabilities in a file, rounded or not, are solved for the columns"

    def applies(self, stage: Stage) -> str:
        """Refuse decoded outputs, too, which are not linear."""
        if stage.cfg.encoded:
            return "outputs are decoded by a network, and not linear in the columns"
        return super().applies(stage)

    def columns(self, scene: Scene) -> Tensor:
        """Return the likeliest solution."""
        logits = Scene(scene.stage)
        A = slopes_of(logits)
        assert isinstance(scene, ReadScene) and A is not None  # noqa: S101  `applies` has asked
        prior = Prior.of(scene.others(scene.auxiliary))
        p = scene.outputs.double().clamp_min(scene.unit / 2)
        with torch.no_grad():
            at_mean = logits.predict(prior.mean.expand(len(scene.rows), -1)).double()
        v = 12 * (p / scene.unit) ** 2
        V = torch.diag_embed(v) - v[:, :, None] * v[:, None, :] / v.sum(1)[:, None, None]
        MV = (prior.basis @ A).double() @ V  # (B, r, C)
        unit = torch.eye(len(prior.basis), dtype=torch.float64)
        left = unit + MV @ (prior.basis @ A).double().T
        z = torch.linalg.solve(left, MV @ (p.log() - at_mean)[:, :, None])
        return prior.columns(z[:, :, 0].float())
