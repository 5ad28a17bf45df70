"""UnSplit: columns and weights found together, from architecture and uploads.

Erdoğan et al. 2021, arXiv:2108.09033. A clone of the party's bottom model, of the same architecture
and with weights of its own, and guesses of the columns descend in turns

    |h~(x~) - E_k|^2

Many pairs of weights and columns make the same uploads, so that success is not certain.
"""

from copy import deepcopy

import numpy as np
import torch
from torch import Tensor, nn

from vfl_flower.analysis.audit.attack import Adversary, Attack, Score, Target
from vfl_flower.analysis.audit.attacks.columns.decoding import NOTHING
from vfl_flower.analysis.audit.attacks.columns.inversion import (
    Prior,
    as_in_training,
    flat,
    solved,
    tensor,
)
from vfl_flower.analysis.audit.attacks.columns.recovery import r_squared
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.common.names import party_name

ROUNDS, STEPS, ROWS = 5, 50, 200
RATE = 1e-3  # of the clone's weights


class UnSplit(Attack):
    """Alternating descent of a clone's weights and its inputs."""

    target, adversary = Target.COLUMNS, Adversary.ACTIVE
    anchor = "Erdoğan et al. 2021, arXiv:2108.09033"
    idea = "columns and a clone's weights descend in turns until they make the uploads"

    def applies(self, stage: Stage) -> str:
        """Refuse masked uploads, and those that are no embeddings."""
        if not stage.uploads or stage.uploads[0].kind != "embedding":
            return NOTHING if not stage.uploads else "no embeddings are uploaded"
        return "masks hide single uploads, which it clones" if stage.masked else ""

    def run(self, stage: Stage) -> Score:
        """Return R² of the columns that are told best."""
        value, rank = max((self.success(stage, rank), rank) for rank in stage.ranks())
        return Score("R²", value, 0.0, "mean", party_name(rank))

    def success(self, stage: Stage, rank: int) -> float:
        """Return R² of one party's columns."""
        party, rows = stage.run.passive[rank - 1], stage.attacked.rows[:ROWS]
        uploads = tensor(stage.uploads[rank - 1].values[:ROWS])
        true = party.columns(rows).cpu()
        net = _clone(party.net, stage.cfg.seed)
        prior, made = Prior.standard(tuple(true.shape[1:])), torch.zeros_like(true)
        for _ in range(ROUNDS):
            [made] = solved([prior], lambda x: _embed(net, x[0]), uploads, STEPS)
            _fit(net, made, uploads)
        guess = flat(made)
        return r_squared(flat(true), guess) if np.isfinite(guess).all() else 0.0


def _clone(net: nn.Module, seed: int) -> nn.Module:
    """Return a network of the same architecture with weights of its own."""
    clone = deepcopy(net)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed + 1)
        for module in clone.modules():
            if hasattr(module, "reset_parameters"):
                module.reset_parameters()  # type: ignore[operator]
    return as_in_training(clone)


def _fit(net: nn.Module, inputs: Tensor, target: Tensor) -> None:
    """Step the clone's weights towards the uploads."""
    net.requires_grad_(True)
    optimizer = torch.optim.Adam(net.parameters(), RATE)
    for _ in range(STEPS):
        optimizer.zero_grad()
        ((_embed(net, inputs) - target) ** 2).mean().backward()
        optimizer.step()
    net.requires_grad_(False)


def _embed(net: nn.Module, inputs: Tensor) -> Tensor:
    made: Tensor = net.embed(inputs)  # type: ignore[operator]
    return made.flatten(1)
