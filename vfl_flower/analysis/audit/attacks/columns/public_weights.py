"""Uploads of the first step solved for columns, with known initial weights.

Initial weights that follow from the seed are known to everybody. The first upload is

    E_k = h_k(x_k),   or their sum under masks,   S = sum_k h_k(x_k)

in which all but the columns is known, what networks draw in training too: it follows from the same
seed. Where an upload has fewer numbers than a row has columns, the
mean and the covariance of the auxiliary rows choose among all that would fit.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from vfl_flower.analysis.audit.attack import Adversary, Attack, Score, Target
from vfl_flower.analysis.audit.attacks.columns.inversion import (
    Prior,
    as_in_training,
    embedded,
    solved,
    tensor,
)
from vfl_flower.analysis.audit.attacks.columns.recovery import r_squared
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.analysis.audit.transcripts.tables import table_of
from vfl_flower.common.names import party_name
from vfl_flower.learning.dropout import Drawing

STEPS = 400


class PublicWeights(Attack):
    """Gradient descent on columns through the networks' initial weights."""

    target, adversary = Target.COLUMNS, Adversary.ACTIVE
    anchor = "Luo et al. 2021, arXiv:2010.10152 (known weights); Fredrikson et al. 2015"
    idea = "columns for which the known initial networks make the first step's uploads"

    def applies(self, stage: Stage) -> str:
        """Refuse secret weights, and uploads of networks that were trained before."""
        if reason := stage.lacks_embeddings:
            return reason
        if stage.cfg.party_randomness == "private":
            return "initial weights are private"
        early = stage.uploads[0].training
        return "" if early else "the first upload is of networks that were trained"

    def run(self, stage: Stage) -> Score:
        """Return R² of the columns that are told best."""
        found = self.jointly(stage) if stage.masked else self.singly(stage)
        value, rank = max(found)
        return Score("R²", value, 0.0, "mean", party_name(rank), "first step")

    def singly(self, stage: Stage) -> list[tuple[float, int]]:
        """Solve each party's own upload."""
        return [success for rank in stage.ranks() for success in self.through(stage, [rank])]

    def jointly(self, stage: Stage) -> list[tuple[float, int]]:
        """Solve the sum for all parties' columns at once."""
        return self.through(stage, list(stage.ranks()))

    def through(self, stage: Stage, ranks: Sequence[int]) -> list[tuple[float, int]]:
        """Solve some parties' sum; return R² and rank of each."""
        firsts = [first for k in ranks if (first := stage.uploads[k - 1].first) is not None]
        parties = [stage.untrained(k) for k in ranks]
        nets = [_drawing(as_in_training(party.net)) for party in parties]
        draws = [party.randomness.state_dict() for party in parties]
        true = [stage.run.passive[k - 1].columns(firsts[0][0]).cpu() for k in ranks]

        def forward(inputs: Sequence[Tensor]) -> Tensor:
            for party, state in zip(parties, draws, strict=True):
                party.randomness.load_state_dict(state)
            pairs = zip(nets, inputs, strict=True)
            return torch.stack([embedded(net, each) for net, each in pairs]).sum(0)

        target = torch.stack([tensor(values) for _, values in firsts]).sum(0)
        known = stage.attacked.rows[stage.attacked.auxiliary]
        priors = [Prior.of(stage.run.passive[k - 1].columns(known).cpu()) for k in ranks]
        made = solved(priors, forward, target, STEPS)
        judged = ~np.isin(firsts[0][0], known)
        pairs = zip(true, made, ranks, strict=True)
        return [
            (r_squared(table_of(x)[judged], table_of(guess)[judged]), k) for x, guess, k in pairs
        ]


def _drawing(net: nn.Module) -> nn.Module:
    """Let a network draw as in training."""
    for module in net.modules():
        if isinstance(module, Drawing):
            module.train()
    return net
