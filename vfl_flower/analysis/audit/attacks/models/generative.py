"""Generative regression network: columns that make the joint prediction.

Luo et al. 2021, arXiv:2010.10152, "GRNA". A generator G makes the passive parties' columns of the
active party's and of noise r, until the known networks f predict of them as they did:

    min over G of  |f(x_0, G(x_0, r)) - R|^2 / var(R) + PENALTY |G|^2 + |G(x_0', r) - x'|^2

R are logits here, and there probabilities. The paper bounds the variance of G; here it is its
squared distance from the mean of the auxiliary rows. The last term, of those rows, is not in the
paper, whose adversary knows no row. Rows differ for G by the own columns alone: an active party
without columns learns nothing of a single row.
"""

import torch
from torch import Tensor, nn

from vfl_flower.analysis.audit.attacks.models.known import KnownModels, Scene

STEPS, RATE, PENALTY = 200, 2e-3, 0.05
_HIDDEN = 256, 128
_LEAST = 1e-6  # of a variance


class Generative(KnownModels):
    """Generator of the passive parties' columns, taught by predictions."""

    anchor = "Luo et al. 2021, arXiv:2010.10152 (GRNA)"
    idea = "a generator of columns, from own ones, learns until known networks predict as they did"

    def columns(self, scene: Scene) -> Tensor:
        """Return the columns that the trained generator makes."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(scene.stage.cfg.seed)
            generator = Generator(scene.own(scene.auxiliary), scene.others(scene.auxiliary))
            _train(generator, scene)
            with torch.no_grad():
                made: Tensor = generator(scene.own(scene.rows))[0]
        return made


class Generator(nn.Module):
    """Network from own columns and noise to the others' columns.

    Parameters
    ----------
    own, others : Tensor
        Auxiliary rows, (A, width) and (A, W).
    """

    def __init__(self, own: Tensor, others: Tensor) -> None:
        super().__init__()
        self.own, self.others = own, others
        self.mean, self.width = others.mean(0), others.shape[1]
        first, second = _HIDDEN
        self.layers = nn.Sequential(
            *(nn.Linear(own.shape[1] + self.width, first), nn.LayerNorm(first), nn.ReLU()),
            *(nn.Linear(first, second), nn.LayerNorm(second), nn.ReLU()),
            nn.Linear(second, self.width),
        )

    def forward(self, own: Tensor) -> tuple[Tensor, Tensor]:
        """Return columns, and their distances from the mean.

        (B, width) -> (B, W) each.
        """
        noise = torch.randn(len(own), self.width)
        away = self.layers(torch.cat([own, noise], 1)) * self.others.std(0)
        return self.mean + away, away


def _train(generator: Generator, scene: Scene) -> None:
    """Descend; the known networks stay as they are."""
    own, R, weights = scene.own(scene.rows), scene.outputs, list(generator.parameters())
    optimizer = torch.optim.Adam(weights, RATE)
    for _ in range(STEPS):
        made, away = generator(own)
        told = ((generator(generator.own)[0] - generator.others) ** 2).mean()
        off = ((scene.predict(made) - R) ** 2).mean() / R.var().clamp_min(_LEAST)
        gradients = torch.autograd.grad(off + PENALTY * (away**2).mean() + told, weights)
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.grad = gradient
        optimizer.step()
