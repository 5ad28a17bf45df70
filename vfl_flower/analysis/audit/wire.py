"""Recomputed feature maps, as the active party of a run received them."""

import torch
from torch import Tensor

from vfl_flower.algorithms.augmentation import maps_of
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.registry import spec_of
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.compression import compression_of
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.party import Party
from vfl_flower.parties.uploads.compression import Compressor
from vfl_flower.parties.uploads.registry import MECHANISMS
from vfl_flower.privacy.client_dp.component import ClientPrivacy
from vfl_flower.privacy.client_dp.planning import budget_of
from vfl_flower.protocol.uploads import UploadMechanism


class Wire:
    """Noise and compression of feature maps on their way out.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    active : ActiveParty
        Its active party.

    Raises
    ------
    ConfigError
        If uploads of the run go through a mechanism that is not recomputed here.

    Attributes
    ----------
    shape : tuple of int
        Of a tile's map, (c', h', w').
    sigma : float
        The noise multiplier of evaluations; 0 without noise.
    """

    def __init__(self, cfg: RunConfig, active: ActiveParty) -> None:
        _check_known(cfg)
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


def _check_known(cfg: RunConfig) -> None:
    """Refuse other upload mechanisms, or another order of them."""
    _, client = spec_of(cfg.method).load()
    own = [each for each in client.components if issubclass(each, UploadMechanism)]
    through = [*own, *(each for each in MECHANISMS if each.wanted(cfg))]
    if through != [each for each in (ClientPrivacy, Compressor) if each in through]:
        raise ConfigError(
            f"uploads of {cfg.method} go through {', '.join(each.name for each in through)}, of "
            "which the audit recomputes noise and then compression only"
        )
