"""Augmented views of partitioned images: all parts flipped and shifted alike.

Whether a row is flipped, and how far it is shifted, follow from the seed, so that all parties do
the same to their parts of it without a word. A part is shifted within itself: what leaves it on
one side is lost, and the nearest pixels come in on the other.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from vfl_flower.config.options.shared import ViewOptions
from vfl_flower.config.run_config import RunConfig
from vfl_flower.parties.party import Party

_REACH = 8  # a part is shifted by up to this fraction of its side: 4 pixels of 32, as usual

_VIEW, _EPOCH, _CHOICE = 10, 11, 12
"""Streams of random numbers of a seed; `randomness` has the first ones."""


@dataclass(frozen=True)
class Looks:
    """Flip and shift of each row.

    Attributes
    ----------
    flips : Tensor
        (N,) bool.
    shifts : Tensor
        (N, 2) int64: rows down and columns to the right, negative for up and left.
    """

    flips: Tensor
    shifts: Tensor

    def __getitem__(self, rows: Tensor) -> "Looks":
        return Looks(self.flips[rows], self.shifts[rows])

    def seen(self, x: Tensor) -> Tensor:
        """Apply flips and shifts to images, (N, c, h, w)."""
        count, channels, height, width = x.shape
        flips, shifts = self.flips.to(x.device), self.shifts.to(x.device)
        down, right = (
            (torch.arange(side, device=x.device) - shift[:, None]).clamp(0, side - 1)
            for side, shift in zip((height, width), shifts.T, strict=True)
        )
        right = torch.where(flips[:, None], right.flip(1), right)
        each = torch.arange(count, device=x.device)[:, None, None, None]
        channel = torch.arange(channels, device=x.device)[:, None, None]
        return x[each, channel, down[:, None, :, None], right[:, None, None, :]]


def view(cfg: RunConfig, number: int, rows: int, tile: Sequence[int]) -> Looks:
    """Return one of the sent views; number 0 is not augmented.

    Parameters
    ----------
    cfg : RunConfig
        Its seed and augmentation.
    number : int
        Below the run's `views`.
    rows : int
        N.
    tile : sequence of int
        Height and width of a part, in pixels.
    """
    if number == 0:
        return Looks(torch.zeros(rows, dtype=torch.bool), torch.zeros(rows, 2, dtype=torch.int64))
    return _drawn(cfg.seed, cfg.own(ViewOptions).augment, (number, _VIEW), rows, tuple(tile))


def augmented(cfg: RunConfig, epoch: int, total: int, rows: Tensor, x: Tensor) -> Tensor:
    """Augment images for one epoch of local training.

    With one view, images stay as they are.

    Parameters
    ----------
    cfg : RunConfig
        Its seed, views and augmentation.
    epoch : int
        From 0.
    total : int
        N, how many rows there are.
    rows : Tensor
        The numbers of some, (B,).
    x : Tensor
        (B, c, h, w).
    """
    options = cfg.own(ViewOptions)
    if options.views == 1:
        return x
    return _drawn(cfg.seed, options.augment, (epoch, _EPOCH), total, tuple(x.shape[2:]))[rows].seen(
        x
    )


@torch.no_grad()
def maps_of(party: Party, number: int, rows: Tensor) -> Tensor:
    """Compute a party's feature maps of some rows in one view.

    (B,) -> (B, c', h', w').
    """
    training = party.net.training
    party.net.eval()
    looks = view(party.cfg, number, len(party.x), party.x.shape[2:])
    size, maps = party.cfg.batch_size, torch.empty(0)  # more rows take memory, and no less time
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        made = party.embedding(looks[part].seen(party.columns(part)))
        if not start:
            maps = made.new_empty(len(rows), *made.shape[1:])  # a list and its join would be two
        maps[start : start + size] = made
    party.net.train(training)
    return maps


@lru_cache(maxsize=1)  # once for all batches of an epoch
def chosen(cfg: RunConfig, epoch: int, rows: int) -> Tensor:
    """Return which view of each row an epoch trains on: (N,) int64."""
    random = np.random.default_rng([cfg.seed, epoch, _CHOICE])
    return torch.from_numpy(random.integers(cfg.own(ViewOptions).views, size=rows))


@lru_cache(maxsize=8)  # once for all batches of an epoch
def _drawn(
    seed: int, augment: str, stream: tuple[int, int], rows: int, tile: tuple[int, ...]
) -> Looks:
    random = np.random.default_rng([seed, *stream])
    flips = random.integers(2, size=rows).astype(bool) & ("flip" in augment)
    reach = [math.ceil(side / _REACH) * ("crop" in augment) for side in tile]
    shifts = np.stack([random.integers(-r, r + 1, size=rows) for r in reach], 1)
    return Looks(torch.from_numpy(flips), torch.from_numpy(shifts))
