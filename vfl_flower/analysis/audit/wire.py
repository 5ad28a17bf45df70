"""Recomputed feature maps, as the active party of a run received them."""

import torch
from torch import Tensor

from vfl_flower.algorithms.augmentation import maps_of
from vfl_flower.common.codec import Array
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.compression import compression_of
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.party import Party
from vfl_flower.privacy.client_dp.budget import budget_of


class Wire:
    """Noise and compression of feature maps on their way out.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    active : ActiveParty
        Its active party.

    Attributes
    ----------
    shape : tuple of int
        Of a tile's map, (c', h', w').
    sigma : float
        The noise multiplier of evaluations; 0 without noise.
    """

    def __init__(self, cfg: RunConfig, active: ActiveParty) -> None:
        one = maps_of(active, 0, torch.tensor([0]))
        self.shape = tuple(one.shape[1:])
        self.compression = compression_of(cfg.options.upload_compression, one.numel())
        budget = budget_of(cfg, active.data.rows)
        self.mechanism = budget.mechanism if budget and budget.noises("evaluation") else None
        self.sigma = self.mechanism.sigma if self.mechanism else 0.0
        self.generator = torch.Generator().manual_seed(cfg.seed)

    def carried(self, party: Party, message: Array) -> Tensor:
        """Return one message's maps as they arrive: (B, c', h', w')."""
        H = self.noised(maps_of(party, 0, torch.from_numpy(message)).flatten(1))
        arrived = self.compression.restore(self.compression.compress(H), len(H))
        return arrived.reshape(-1, *self.shape)

    def noised(self, H: Tensor) -> Tensor:
        """Clip and noise a message as the party would.

        Nothing leaves here, so any generator may draw the noise.

        The party's own noise, of whole steps, takes long to draw and is no other to an attacker.
        """
        if self.mechanism is None:
            return H
        clipped = torch.from_numpy(self.mechanism.clipped(H) * self.mechanism.step).float()
        deviation = self.mechanism.deviation * self.mechanism.step
        return clipped + deviation * torch.randn(H.shape, generator=self.generator)
