"""Feature reconstruction: the active party inverts others' feature maps to tiles.

It has its own extractor, which the others' started from, tiles of its own, and everybody's maps:

    W_g  descends  mse(W_g(H_0 / s), x_0)     on its own tiles of training rows
    x_k' = W_g(H_k / s)                       its picture of party k's tile of a test row

H_k is what W_e^k makes of x_k, (B, c', h', w'), as it arrives: clipped and noised where the run's
evaluations were, in messages as long as those of the test rows, and compressed. W_g is the mirror
of the extractor, started anew, behind two blocks of convolution, and s the deviation of H_0, which
clipping makes small. Pixels are
from 0 to 1, those that ``column-noise`` is not on. Two numbers stand beside what W_g reaches: what
the mean of the attacker's own tiles does, for which nothing need be sent, and what W_g does on the
attacker's own tiles of test rows, about the best that it can hope for.

One message's maps are in memory at a time, as in the run itself.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vfl_flower.analysis.audit.similarity import Likeness, likeness
from vfl_flower.analysis.audit.wire import Wire
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ConfigError
from vfl_flower.common.json_schema import written
from vfl_flower.common.names import party_name
from vfl_flower.config.registry import METHODS, spec_of
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.byte_rows import unit
from vfl_flower.data.partition.shares import take
from vfl_flower.data.published_data import PublishedData
from vfl_flower.data.splitting.record import Split
from vfl_flower.learning.batching import batches
from vfl_flower.learning.networks.base import Shape
from vfl_flower.learning.networks.cut_network import halves
from vfl_flower.learning.networks.decoder import mirror
from vfl_flower.learning.optimizer import ScheduledOptimizer
from vfl_flower.learning.randomness import Randomness, public_origin
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.party import Party
from vfl_flower.protocol.components import declared_by
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.runs.seeds import first_run
from vfl_flower.workflows.completed_run import result_of
from vfl_flower.workflows.trained_parties import parties_of

MOST_LEARNT, MOST_MEASURED = 10_000, 2_000  # training and test rows
SHOWN = 8  # tiles of a party in a picture
HIDDEN = 64  # channels between the two blocks before the mirror
RATE = 1e-2  # of Adam, for W_g


@dataclass(frozen=True)
class Finding:
    """Reconstruction quality for one party's feature maps.

    Attributes
    ----------
    party : str
        Whose they are.
    made : Likeness
        Of its pictures.
    mean : Likeness
        Of the mean of its own tiles, in the place of each picture.
    """

    party: str
    made: Likeness
    mean: Likeness


@dataclass(frozen=True)
class Findings:
    """Results of the attack on one run.

    Attributes
    ----------
    run, method, dataset, cut, compression : str
        The run's folder, and what it says of itself.
    sigma : float
        The noise multiplier of what was attacked; 0 without noise.
    tile, map : tuple of int
        Shapes of a tile, and of its feature map: channels, height, width.
    epochs, learnt, measured : int
        Epochs of the decoder's training; training rows that it saw; test rows attacked.
    found : list of Finding
        Of each party; first the active one, for whose maps the decoder was made.
    """

    run: str
    method: str
    dataset: str
    cut: str
    compression: str
    sigma: float
    tile: tuple[int, ...]
    map: tuple[int, ...]
    epochs: int
    learnt: int
    measured: int
    found: list[Finding]

    def told(self) -> dict[str, Any]:
        """Return all of it as JSON may have it."""
        return asdict(self, dict_factory=_without_infinity)


@dataclass(frozen=True)
class Pictures:
    """True and reconstructed tiles of one party, (n, c, h, w) each."""

    party: str
    true: Tensor
    made: Tensor


def sends_maps(method: str) -> bool:
    """Tell whether a method's passive parties declare feature maps."""
    _, client = spec_of(method).load()
    return any("maps" in declared.sends for declared in declared_by(client).values())


def runs_with_maps(paths: Sequence[Path], trust_code: bool = False) -> list[RunFolder]:
    """Find attackable runs; of several seeds, the first.

    `trust_code` is as for `RunFolder.reopen`.

    Raises
    ------
    RunError
        If one is not there, not complete, or without the weights of a party.
    ConfigError
        If no feature maps are sent with its method.
    """
    folders = [first_run(path, trust_code) for path in paths]
    for folder in folders:
        if not sends_maps(folder.cfg.method):
            able = ", ".join(name for name in METHODS if sends_maps(name))
            raise ConfigError(
                f"{folder.path}: with {folder.cfg.method} no feature maps are sent; they are with "
                f"{able}"
            )
        result_of(folder)
    return folders


def attack(folder: RunFolder, epochs: int) -> tuple[Findings, list[Pictures]]:
    """Train a decoder, and measure its reconstructions of every party's tiles.

    Raises
    ------
    RunError
        If weights are damaged, or another run's.
    """
    active, passive = parties_of(folder)
    wire, tiles = Wire(folder.cfg, active), Tiles(folder.cfg, active.data.split)
    attacker = Attacker(active, wire, tiles)
    attacker.learn(epochs)
    rows, found, pictures = attacker.measured, [], []
    for party in (active, *passive):
        true, made = tiles.of(party.rank, rows), attacker.pictures_of(party)
        mean = attacker.mean.expand_as(true)
        name = party_name(party.rank)
        found.append(Finding(name, likeness(true, made), likeness(true, mean)))
        pictures.append(Pictures(name, true[:SHOWN], made[:SHOWN]))
    cfg = folder.cfg
    findings = Findings(
        run=str(folder.path),
        method=cfg.method,
        dataset=cfg.dataset,
        cut=cfg.options.cut_at,
        compression=cfg.options.upload_compression,
        sigma=wire.sigma,
        tile=tuple(active.x.shape[1:]),
        map=wire.shape,
        epochs=epochs,
        learnt=len(attacker.rows),
        measured=len(rows),
        found=found,
    )
    return findings, pictures


class Tiles:
    """The parties' tiles of the images, in pixels from 0 to 1.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    split : Split, optional
        See `vfl_flower.data.loading.split_of`.
    """

    def __init__(self, cfg: RunConfig, split: Split | None = None) -> None:
        data = PublishedData(cfg, split)
        self.stored, self.shares = data.stored, data.shares
        ends = np.array([self.stored.min(), self.stored.max()])
        self.least, self.largest = unit(ends)

    def of(self, rank: int, rows: Array) -> Tensor:
        """Return one party's tiles: (B,) -> (B, c, h, w)."""
        tiles = unit(take(self.stored[rows], self.shares[rank]))
        return torch.from_numpy((tiles - self.least) / (self.largest - self.least))


class Attacker:
    """The active party with a decoder of its own maps.

    Parameters
    ----------
    active : ActiveParty
        As the run left it.
    wire : Wire
        Brings maps.
    tiles : Tiles
        Of which it uses its own.

    Attributes
    ----------
    rows, measured : ndarray of int32
        The training rows that it learns from, and the test rows that it attacks.
    mean : Tensor
        Of its own tiles of the former, (c, h, w).
    """

    def __init__(self, active: ActiveParty, wire: Wire, tiles: Tiles) -> None:
        self.active, self.wire, self.tiles, self.cfg = active, wire, tiles, active.cfg
        test = active.data.rows["test"]
        self.length = min(self.cfg.eval_batch_size, len(test))  # of a message
        messages = batches(self.cfg.seed, 0, test, self.length)
        self.messages = messages[: ceil(MOST_MEASURED / self.length)]
        self.measured: Array = np.concatenate(self.messages)[:MOST_MEASURED]
        [self.rows, *_] = batches(self.cfg.seed, 0, active.rows["train"], MOST_LEARNT)
        self.mean = tiles.of(0, self.rows).mean(0)
        extractor = cast("nn.Sequential", halves(active.net)[0])
        randomness = Randomness(public_origin(self.cfg.seed, 0))
        with randomness.building():
            self.decoder = decoder_of(extractor, tuple(active.x.shape[1:]), wire.shape[0])
        self.decoder.to(active.x.device)
        self.scale = wire.carried(active, self.rows[: self.length]).std()

    def decode(self, H: Tensor) -> Tensor:
        """Run W_g: (B, c', h', w') -> (B, c, h, w)."""
        made: Tensor = self.decoder((H / self.scale).to(self.active.x.device))
        return made.cpu()

    def learn(self, epochs: int) -> None:
        """Train W_g on the active party's own tiles.

        Rows beyond the last whole message are not used.
        """
        self.decoder.train()
        optimizer = ScheduledOptimizer({self.decoder: RATE}, "adam", "constant", 0)
        for epoch in range(epochs):
            messages = batches(self.cfg.seed, epoch, self.rows, self.length)
            for message in messages[: max(len(self.rows) // self.length, 1)]:
                x_0, H_0 = self.tiles.of(0, message), self.wire.carried(self.active, message)
                steps = ceil(len(message) / self.cfg.batch_size)
                for part in torch.arange(len(message)).tensor_split(steps):
                    optimizer.down(F.mse_loss(self.decode(H_0[part]), x_0[part]))

    @torch.no_grad()
    def pictures_of(self, party: Party) -> Tensor:
        """Reconstruct a party's tiles of attacked test rows: (B, c, h, w)."""
        self.decoder.eval()
        made = [
            self.decode(part)
            for message in self.messages
            for part in self.wire.carried(party, message).split(self.cfg.batch_size)
        ]
        return torch.cat(made)[:MOST_MEASURED].clamp(0, 1)


def decoder_of(extractor: nn.Sequential, tile: Shape, channels: int) -> nn.Sequential:
    """Build W_g for maps of so many channels.

    The mirror alone is linear where there is one convolution before the cut, and would show less
    than maps of an early cut tell.
    """
    blocks = (
        *(nn.Conv2d(channels, HIDDEN, 3, padding=1), nn.BatchNorm2d(HIDDEN), nn.ReLU()),
        *(nn.Conv2d(HIDDEN, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU()),
    )
    return nn.Sequential(*blocks, *mirror(extractor, tile))


def _without_infinity(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: written(each) if isinstance(each, float) else each for name, each in pairs}
