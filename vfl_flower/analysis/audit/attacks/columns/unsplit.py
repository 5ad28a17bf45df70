"""UnSplit: columns and weights found together, from architecture and uploads.

Erdoğan et al. 2021, arXiv:2108.09033. A clone of the party's bottom model, of the same architecture
and with weights of its own, and guesses of the columns descend in turns

    |h~(x~) - E_k|^2 / var(E_k) + PENALTY |x~|^2

Scale and sign of a column stay open, since the clone's weights can undo them: pixels have a known
range there, and here a line for each column, fitted to the auxiliary rows, sets them. A dense first
layer leaves much more open, for W x = (W A^-1) (A x) with any mixing A of the columns. There the
figure stays near 0, however well the clone makes the uploads, so that it is no assurance. Networks
that treat each column alike, as convolutions do, leave less.
"""

from copy import deepcopy

import numpy as np
import torch
from torch import Tensor, nn

from vfl_flower.analysis.audit.attack import Adversary, Attack, Score, Target
from vfl_flower.analysis.audit.attacks.columns.inversion import (
    PENALTY,
    as_in_training,
    embedded,
    tensor,
)
from vfl_flower.analysis.audit.attacks.columns.recovery import r_squared
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.analysis.audit.transcripts.tables import Table, table_of
from vfl_flower.common.names import party_name

ROUNDS, STEPS, ROWS = 5, 50, 100
"""Rounds; steps of either in each; rows that are sought, and as many auxiliary ones."""
RATE_OF_COLUMNS, RATE_OF_WEIGHTS = 0.05, 1e-3
_LEAST = 1e-12  # of a variance


class UnSplit(Attack):
    """Alternating descent of a clone's weights and its inputs."""

    target, adversary = Target.COLUMNS, Adversary.ACTIVE
    anchor = "Erdoğan et al. 2021, arXiv:2108.09033"
    idea = "columns and a clone's weights descend in turns until they make the uploads"

    def applies(self, stage: Stage) -> str:
        """Refuse masked uploads, and those that are no embeddings."""
        if reason := stage.lacks_embeddings:
            return reason
        return "masks hide single uploads, which it clones" if stage.masked else ""

    def run(self, stage: Stage) -> Score:
        """Return R² of the columns that are told best."""
        value, rank = max((self.success(stage, rank), rank) for rank in stage.ranks())
        return Score("R²", value, 0.0, "mean", party_name(rank))

    def success(self, stage: Stage, rank: int) -> float:
        """Return R² of one party's columns."""
        party, known = stage.run.passive[rank - 1], stage.attacked.auxiliary
        told, sought = np.flatnonzero(known)[:ROWS], np.flatnonzero(~known)[:ROWS]
        places = np.concatenate([told, sought])
        columns = party.columns(stage.attacked.rows[places]).cpu()
        net = _clone(party.net, stage.cfg.seed)
        guess = table_of(_found(net, columns.shape, tensor(stage.uploads[rank - 1].values[places])))
        if not np.isfinite(guess).all():
            return 0.0
        true, n = table_of(columns), len(told)
        return r_squared(true[n:], _scaled(guess[:n], true[:n], guess[n:]))


def _found(net: nn.Module, shape: torch.Size, uploads: Tensor) -> Tensor:
    """Descend columns and a clone's weights in turns; return the columns."""
    made = torch.zeros(shape, requires_grad=True)
    net.requires_grad_(True)
    scale = uploads.var().clamp_min(_LEAST)
    turns = (
        torch.optim.Adam([made], RATE_OF_COLUMNS),
        torch.optim.Adam(net.parameters(), RATE_OF_WEIGHTS),
    )
    for _ in range(ROUNDS):
        for optimizer in turns:
            for _ in range(STEPS):
                net.zero_grad()
                made.grad = None
                off = ((embedded(net, made) - uploads) ** 2).mean() / scale
                (off + PENALTY * (made**2).mean()).backward()
                optimizer.step()
    return made.detach()


def _scaled(told: Table, true: Table, guess: Table) -> Table:
    """Set scale and sign of guessed columns by those of known rows.

    Guesses and truth of the known rows, (A, width) each, and guesses of others, (B, width).
    """
    away, mean = told - told.mean(0), true.mean(0)
    slopes = (away * (true - mean)).sum(0) / np.maximum((away**2).sum(0), _LEAST)
    scaled: Table = mean + (guess - told.mean(0)) * slopes
    return scaled


def _clone(net: nn.Module, seed: int) -> nn.Module:
    """Return a network of the same architecture with weights of its own."""
    clone = deepcopy(net)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed + 1)
        for module in clone.modules():
            if hasattr(module, "reset_parameters"):
                module.reset_parameters()  # type: ignore[operator]
    return as_in_training(clone)
