"""Equality solving: linear equations between predictions and columns.

Luo et al. 2021, arXiv:2010.10152, "ESA". Where the joint prediction is linear in the passive
parties' columns x, with known weights A, each class gives an equation:

    R - f(x_0, m) = (x - m) A,      m: the mean of the auxiliary rows

With no more columns than independent equations the solution is exact. With more, it is the
likeliest one under a Gaussian prior of the auxiliary rows; the paper takes the shortest.
"""

import torch
from torch import Tensor

from vfl_flower.analysis.audit.attacks.columns.inversion import Prior
from vfl_flower.analysis.audit.attacks.models.known import KnownModels, Scene
from vfl_flower.analysis.audit.transcripts.stage import Stage

_OFF = 1e-3  # of the largest weight: two slopes that differ by less are one
_SINGULAR = 1e-5


class EqualitySolving(KnownModels):
    """Least squares from a linear joint model's outputs."""

    anchor = "Luo et al. 2021, arXiv:2010.10152 (ESA)"
    idea = "a joint model that is linear in the columns, with known weights, is solved for them"

    def applies(self, stage: Stage) -> str:
        """Refuse joint models that are not linear."""
        if reason := super().applies(stage):
            return reason
        linear = slopes_of(Scene(stage)) is not None
        return (
            "" if linear else "the joint prediction is not linear in the passive parties' columns"
        )

    def columns(self, scene: Scene) -> Tensor:
        """Return the likeliest solution."""
        A = slopes_of(scene)
        assert A is not None  # noqa: S101  `applies` has asked
        prior = Prior.of(scene.others(scene.auxiliary))
        with torch.no_grad():
            left = scene.outputs - scene.predict(prior.mean.expand(len(scene.rows), -1))
        seen = (prior.basis @ A).double()
        z = left.double() @ torch.linalg.pinv(seen, rtol=_SINGULAR)
        return prior.columns(z.float())


def slopes_of(scene: Scene) -> Tensor | None:
    """Return A, (W, C), or None if slopes differ among rows."""
    known = scene.others(scene.auxiliary)
    points = known[torch.arange(len(scene.rows)) % len(known)].requires_grad_()
    outputs = scene.predict(points)
    slopes = torch.stack(
        [
            torch.autograd.grad(each.sum(), points, retain_graph=True)[0]
            for each in outputs.unbind(1)
        ],
        2,
    )  # (B, W, C)
    A = slopes.mean(0)
    return A if (slopes - A).abs().max() <= _OFF * A.abs().max() else None
