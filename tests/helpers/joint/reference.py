"""The methods' mathematics as plain PyTorch programs over all parties' data.

No protocol, no carrier, no keys: one loop with one joint backward pass a step. The distributed
runs must come to the same parameters bit for bit. Where a method blinds, embeddings are rounded to
the ring's grid here too.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from tests.helpers.data import labels_of
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.loading import load_party, run_data
from vfl_flower.data.party_data import PartyData
from vfl_flower.data.published_data import PublishedData
from vfl_flower.data.splitting.rows import rows_of
from vfl_flower.learning.batching import batches
from vfl_flower.learning.losses import Loss, Weighted
from vfl_flower.parties.party import Party
from vfl_flower.workflows.build_learner import build_learner

GRID = 2**16

Step = Callable[[Sequence[Party], Tensor, Tensor, Loss], None]
"""Trains all parties on some rows, given all labels."""


def parties_of(cfg: RunConfig) -> list[Party]:
    """Return all parties' belongings, the active party's first."""
    method = cfg.spec
    own = run_data(cfg).pooled() if method.pools else load_party(cfg, 0)
    strategy = method.load()[0]
    layers = cfg.top_layers or strategy.layers
    active = build_learner(cfg, own, top_input=strategy.top_input, layers=layers)
    passive = [build_learner(cfg, load_party(cfg, k)) for k in range(1, cfg.parties)]
    return [active, *passive]


class WeightedRows:
    """Labels and weights of all rows, indexed as a tensor is."""

    def __init__(self, y: Tensor, weight: Tensor) -> None:
        self.y, self.weight = y, weight

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, rows: Tensor) -> Weighted:
        return Weighted(self.y[rows], self.weight[rows])


class WeightedData(PublishedData):
    """Data of a run whose active party has weights of rows, (N,)."""

    def __init__(self, cfg: RunConfig, weights: Tensor) -> None:
        super().__init__(cfg)
        self.weights = weights

    def party(self, rank: int, *, labelled: bool = True) -> PartyData:
        data = super().party(rank, labelled=labelled)
        return data if rank else replace(data, weights=self.weights.double().numpy())

    def pooled(self, *, labelled: bool = True) -> PartyData:
        return replace(super().pooled(labelled=labelled), weights=self.weights.double().numpy())


def uneven(cfg: RunConfig) -> tuple[Tensor, Tensor]:
    """Return weights of rows, (N,), and their proportion to the mean."""
    rows = rows_of(cfg, len(labels_of(cfg)))
    raw = torch.rand(len(labels_of(cfg)), generator=torch.Generator().manual_seed(3)) * 7
    raw[::5] = 0
    return raw, (raw.double() / raw[torch.from_numpy(rows["train"])].double().mean()).float()


def balanced(cfg: RunConfig) -> Tensor:
    """Return weights of rows that balance classes, (N,)."""
    y = labels_of(cfg)
    train = y[torch.from_numpy(rows_of(cfg, len(y))["train"])]
    classes, counts = train.unique(return_counts=True)
    weights: Tensor = len(train) / (len(classes) * counts.double())
    return weights[y].float()


def joint(
    cfg: RunConfig, loss: Loss, steps: int, step: Step, weight: Tensor | None = None
) -> list[Party]:
    """Train all parties for some steps and return them.

    Rows may have weights, (N,).
    """
    torch.set_num_threads(cfg.threads)  # float sums depend on it
    parties, y = parties_of(cfg), labels_of(cfg)
    train = rows_of(cfg, len(y))["train"]
    y = y if weight is None else WeightedRows(y, weight)  # type: ignore[assignment]
    taken = 0
    for epoch in range(cfg.epochs):
        for batch in batches(cfg.seed, epoch, train, cfg.batch_size):
            if taken == steps:
                return parties
            step(parties, torch.from_numpy(batch), y, loss)
            taken += 1
    return parties


def joint_easter(
    cfg: RunConfig,
    loss: Loss,
    steps: int,
    *,
    rounded: bool = True,
    weight: Tensor | None = None,
) -> list[Party]:
    """Train EASTER (or VFedMH) for some steps and return all parties."""
    return joint(cfg, loss, steps, partial(easter_step, rounded=rounded), weight)


def easter_step(
    parties: Sequence[Party], rows: Tensor, y: Tensor, loss: Loss, *, rounded: bool
) -> None:
    """Take one step: every party descends its own loss through its E."""
    e = [within_bound(m, m.embed_rows(rows)) for m in parties]
    E = (e[0].detach() + total(e[1:], rounded=rounded)) / len(parties)
    shares = [E + (e_k - e_k.detach()) / len(parties) for e_k in e]
    losses = [loss(m.decide(share), y[rows]) for m, share in zip(parties, shares, strict=True)]
    for m in parties:
        m.optimizer.optimizer.zero_grad()
    torch.stack(losses).sum().backward()
    for m in parties:
        m.optimizer.step()


def within_bound(party: Party, x: Tensor) -> Tensor:
    """Clip the rows of a passive party to `embedding-bound`."""
    bound = party.cfg.row_bound
    if bound is None or party.rank == 0:
        return x
    return x * torch.minimum(torch.ones(()), bound / x.norm(dim=1, keepdim=True))


def total(embeddings: Sequence[Tensor], *, rounded: bool) -> Tensor:
    """Add embeddings, exactly on the grid or as floats in order."""
    if rounded:
        words = [torch.round(e.detach() * GRID).to(torch.int64) for e in embeddings]
        return torch.stack(words).sum(0).to(torch.float32) / GRID
    result = embeddings[0].detach().clone()
    for e in embeddings[1:]:
        result += e.detach()
    return result
