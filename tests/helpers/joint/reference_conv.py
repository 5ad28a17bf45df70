"""AdptVFedConv as a plain PyTorch program over all tiles."""

from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Adam

from strategies.specs.adptvfedconv import AdptVFedConvOptions
from tests.helpers.data import labels_of
from vfl_flower.algorithms.augmentation import augmented, chosen, view
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.loading import load_party
from vfl_flower.data.splitting.rows import rows_of
from vfl_flower.learning.batching import batches
from vfl_flower.learning.networks.base import TopInput
from vfl_flower.learning.networks.cut_network import cut_network, halves
from vfl_flower.parties.party import Party
from vfl_flower.workflows.build_learner import build_learner


def joint_adptvfedconv(
    cfg: RunConfig, released: Callable[[Tensor], Tensor] | None = None
) -> list[Party]:
    """Train all parties; constant rates, Adam, one grid of 2 x 2.

    `released` clips and noises the maps of one message, (B, c' h' w').
    """
    torch.set_num_threads(cfg.threads)
    y = labels_of(cfg)
    tops = [TopInput.TILED] + [TopInput.MIRROR] * 3
    parties = [build_learner(cfg, load_party(cfg, k), top_input=top) for k, top in enumerate(tops)]
    pretrain(cfg, parties[0], y)
    for party in parties[1:]:
        if cfg.own(AdptVFedConvOptions).model_transfer:
            halves(party.net)[0].load_state_dict(halves(parties[0].net)[0].state_dict())
        finetune(cfg, party)
    train(cfg, parties[0], assembled(cfg, parties, released), y)
    return parties


def of_epoch(cfg: RunConfig, epoch: int) -> Iterator[Tensor]:
    rows = rows_of(cfg, len(labels_of(cfg)))["train"]
    yield from map(torch.from_numpy, batches(cfg.seed, epoch, rows, cfg.batch_size))


def down(loss: Tensor, optimizer: Adam) -> None:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def run(party: Party, *components: nn.Module, x: Tensor) -> Tensor:
    """Run parts of a network in order, with the party's randomness."""
    for half in components:
        with party.randomness.running(party.net):
            x = half(x)
    return x


def pretrain(cfg: RunConfig, active: Party, y: Tensor) -> None:
    """Stage 1: the active party alone."""
    with active.randomness.building():
        W_clst = cut_network(cfg, active.data).decide
    active.randomness.attach(W_clst)
    active.net.train()
    W_e, _ = halves(active.net)
    optimizer = Adam([*W_e.parameters(), *W_clst.parameters()], cfg.rate_of(0))
    for epoch in range(cfg.own(AdptVFedConvOptions).pretrain_epochs):
        for rows in of_epoch(cfg, epoch):
            x = augmented(cfg, epoch, len(active.x), rows, active.x[rows])
            logits = run(active, W_e, W_clst, x=x)
            down(F.cross_entropy(logits, y[rows]), optimizer)


def finetune(cfg: RunConfig, party: Party) -> None:
    """Stage 2: one passive party's autoencoder, the best of its epochs."""
    options = cfg.own(AdptVFedConvOptions)
    slow = options.extractor_rate if options.model_transfer else options.decoder_rate
    rates = (slow, options.decoder_rate)
    both = halves(party.net)
    groups = [{"params": [*h.parameters()], "lr": r} for h, r in zip(both, rates, strict=True)]
    optimizer = Adam(groups)
    judged = torch.from_numpy(rows_of(cfg, len(party.x))["validation"])
    best, least = party.net.state_dict(), float("inf")
    for epoch in range(options.local_epochs):
        party.net.train()
        for rows in of_epoch(cfg, epoch):
            x = augmented(cfg, epoch, len(party.x), rows, party.x[rows])
            down(F.mse_loss(run(party, nn.Sequential(*both), x=x), x), optimizer)
        party.net.eval()
        with torch.no_grad():
            x = party.x[judged]
            error = F.mse_loss(nn.Sequential(*both)(x), x).item()
        if error < least:
            best, least = {n: t.clone() for n, t in party.net.state_dict().items()}, error
    party.net.load_state_dict(best)


@torch.no_grad()
def assembled(
    cfg: RunConfig, parties: list[Party], released: Callable[[Tensor], Tensor] | None
) -> Tensor:
    """Return all maps assembled, in every view: (views, N, c, H, W)."""
    whole = []
    for number in range(cfg.own(AdptVFedConvOptions).views):
        tiles = []
        for party in parties:
            party.net.eval()
            looks = view(cfg, number, len(party.x), party.x.shape[2:])
            tiles.append(halves(party.net)[0](looks.seen(party.data.numbers)))
            if released and party.rank:
                noise(cfg, tiles[-1], released)
        straight = torch.cat([torch.cat(tiles[:2], 3), torch.cat(tiles[2:], 3)], 2)
        swapped = torch.cat([torch.cat(tiles[1::-1], 3), torch.cat(tiles[:1:-1], 3)], 2)
        whole.append(torch.where(looks.flips[:, None, None, None], swapped, straight))
    return torch.stack(whole)


def noise(cfg: RunConfig, maps: Tensor, released: Callable[[Tensor], Tensor]) -> None:
    """Noise a party's maps, message by message."""
    for part in rows_of(cfg, len(maps)).values():
        for rows in torch.from_numpy(part).split(cfg.eval_batch_size):
            maps[rows] = released(maps[rows].flatten(1)).unflatten(1, maps.shape[1:])


def train(cfg: RunConfig, active: Party, H: Tensor, y: Tensor) -> None:
    """Stage 3: the classifier of whole maps."""
    active.net.train()
    _, W_s = halves(active.net)
    optimizer = Adam(W_s.parameters(), cfg.rate_of(0))
    for epoch in range(cfg.epochs):
        views = chosen(cfg, epoch, len(active.x))
        for rows in of_epoch(cfg, epoch):
            logits = run(active, W_s, x=H[views[rows], rows])
            down(F.cross_entropy(logits, y[rows]), optimizer)
