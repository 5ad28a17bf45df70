"""The baselines' mathematics as plain PyTorch programs; see `tests.helpers.joint.reference`."""

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.func import functional_call

from tests.helpers.joint.reference import total, within_bound
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.batching import lag, turn
from vfl_flower.learning.compression import Compression, compression_of
from vfl_flower.learning.losses import Loss
from vfl_flower.parties.party import Party


def zero(parties: Sequence[Party]) -> None:
    for m in parties:
        m.optimizer.optimizer.zero_grad()


def splitnn_step(parties: Sequence[Party], rows: Tensor, y: Tensor, loss: Loss) -> None:
    """Take one step: one graph from all columns to one loss."""
    joint = torch.cat([m.embed_rows(rows) for m in parties], 1)
    zero(parties)
    loss(parties[0].decide(joint), y[rows]).backward()
    for m in parties:
        m.optimizer.step()


def splitnn_step_after(parties: Sequence[Party], rows: Tensor, y: Tensor, loss: Loss) -> None:
    """Step the top model first, then all bottom models under it."""
    active = parties[0]
    joint = torch.cat([m.embed_rows(rows) for m in parties], 1)
    zero(parties)
    loss(active.decide(joint.detach()), y[rows]).backward()
    assert all(p.grad is None for p in active.net.embed.parameters())  # type: ignore[union-attr]
    active.optimizer.step(of=2)
    loss(active.decide(joint), y[rows]).backward()
    for p in active.net.decide.parameters():  # type: ignore[union-attr]
        p.grad = None
    active.optimizer.step(of=2)
    for m in parties[1:]:
        m.optimizer.step()


def sent_down(down: str, values: Tensor) -> Tensor:
    """Return a tensor as the passive parties read it."""
    compression, table = (
        compression_of(down, values.shape[-1]),
        values.reshape(-1, values.shape[-1]),
    )
    return compression.restore(compression.compress(table), len(table)).reshape(values.shape)


def several_steps(
    parties: Sequence[Party],
    rows: Tensor,
    y: Tensor,
    loss: Loss,
    *,
    compression: Compression,
    down: str = "none",
    steps: int,
    active_steps: int,
    shared: bool,
) -> None:
    """Step all parties as functions of the common initial state."""
    start = [m.embed_rows(rows) for m in parties]
    active = parties[0]
    decide = cast("nn.Module", active.net.decide)
    weights = {name: p.detach().clone() for name, p in decide.named_parameters()}
    weights_down = {name: sent_down(down, p) for name, p in weights.items()}

    def top(E: Sequence[Tensor], weights: dict[str, Tensor] = weights) -> Tensor:  # as it was
        return cast("Tensor", functional_call(decide, weights, (torch.cat(list(E), 1),)))

    def read(E_k: Tensor) -> Tensor:
        if not E_k.numel():  # of the active party with labels only
            return E_k.detach()
        return compression.restore(compression.compress(E_k.detach()), len(rows))

    seen = [read(E_k) for E_k in start]
    leaves = [start[0].detach(), *[E_k.clone().requires_grad_() for E_k in seen[1:]]]
    g = torch.autograd.grad(loss(top(leaves), y[rows]), leaves[1:])
    for rank, m in enumerate(parties):
        count = steps if rank else active_steps
        for step in range(count):
            E_k = m.embed_rows(rows) if step else start[rank]
            joint = [*seen[:rank], E_k, *seen[rank + 1 :]]
            zero([m])
            if rank == 0:
                loss(active.decide(torch.cat(joint, 1)), y[rows]).backward()
            elif shared:
                loss(top(joint, weights_down), y[rows]).backward()
            else:
                E_k.backward(sent_down(down, g[rank - 1]))
            m.optimizer.step(of=count)


class Vafl:
    """Takes steps of all parties, or of one passive party in turn.

    That one adds its present embedding.
    """

    def __init__(self, cfg: RunConfig) -> None:
        K, self.seed, self.steps = cfg.parties - 1, cfg.seed, 0
        self.in_turns = cfg.options.in_turns
        self.holders = cfg.holders
        self.alpha = torch.nn.Parameter(torch.full((self.holders,), 1 / self.holders))
        self.last = [torch.zeros(0)] * K

    def __call__(self, parties: Sequence[Party], rows: Tensor, y: Tensor, loss: Loss) -> None:
        active, *passive = parties
        if not self.steps:
            active.net.register_parameter("aggregation_weights", self.alpha)
            active.optimizer.add(self.alpha)
            self.last = [torch.zeros(len(y), m.cfg.embedding_dim) for m in passive]
        K = len(passive)
        places = [turn(self.seed, self.steps, K) - 1] if self.in_turns else range(K)
        E = [each[rows] for each in self.last]
        for k in places:
            E[k] = passive[k].embed_rows(rows)
            self.last[k][rows] = E[k].detach()
        taught = [active, *(passive[k] for k in places)]
        zero(taught)
        joint = torch.stack([active.embed_rows(rows), *E][-self.holders :])
        loss(active.decide((self.alpha[:, None, None] * joint).sum(0)), y[rows]).backward()
        for m in taught:
            m.optimizer.step()
        self.steps += 1


def logits_step(
    parties: Sequence[Party], rows: Tensor, y: Tensor, loss: Loss, *, rounded: bool, divisor: int
) -> None:
    """Take one step on the sum of all logits or their mean."""
    R_k = [within_bound(m, m.decide(m.embed_rows(rows))) for m in parties]
    R = (R_k[0].detach() + total(R_k[1:], rounded=rounded)) / divisor
    R = R + torch.stack([each - each.detach() for each in R_k]).sum(0) / divisor
    zero(parties)
    loss(R, y[rows]).backward()
    for m in parties:
        m.optimizer.step()


class StaleLogits:
    """Takes each party's steps in order, late ones on stale logits."""

    def __init__(self, cfg: RunConfig, steps: int, divisor: int) -> None:
        self.cfg, self.steps, self.divisor, self.taken = cfg, steps, divisor, 0
        self.late: list[list[tuple[Tensor, Tensor, Tensor]]] = [[] for _ in range(cfg.parties)]

    def __call__(self, parties: Sequence[Party], rows: Tensor, y: Tensor, loss: Loss) -> None:
        logits = [within_bound(m, m.decide(m.embed_rows(rows))) for m in parties]
        rest = total(logits[1:], rounded=self.cfg.blinded)
        R = (logits[0].detach() + rest) / self.divisor
        most, left = self.cfg.options.staleness, self.steps - self.taken - 1  # type: ignore[attr-defined]
        for k, m in enumerate(parties):
            may = min(lag(self.cfg.seed, self.taken, k, most), left) if k else 0
            fresh = None if may or self.late[k] else logits[k]
            self.late[k].append((rows, logits[k].detach(), R))
            while len(self.late[k]) > may:
                own_rows, sent, seen = self.late[k].pop(0)
                R_k = within_bound(m, m.decide(m.embed_rows(own_rows))) if fresh is None else fresh
                mine = seen + (R_k.detach() - sent) / self.divisor
                zero([m])
                loss(mine + (R_k - R_k.detach()) / self.divisor, y[own_rows]).backward()
                m.optimizer.step()
        self.taken += 1


def adaptive_step(
    parties: Sequence[Party],
    rows: Tensor,
    y: Tensor,
    loss: Loss,
    *,
    rounded: bool,
    steps: Sequence[int],
) -> None:
    """Take several steps of each party on the sum of all logits.

    The first party's are on its loss, the others' on the first residual.
    """

    def logits(m: Party) -> Tensor:
        return within_bound(m, m.decide(m.embed_rows(rows)))

    first = [logits(m) for m in parties]
    rest = total(first[1:], rounded=rounded).detach()
    R = (first[0].detach() + rest).requires_grad_()
    (g,) = torch.autograd.grad(loss(R, y[rows]), R)
    for rank, m in enumerate(parties):
        for step in range(steps[rank]):
            zero([m])
            R_k = logits(m) if step else first[rank]
            if rank or not step:
                R_k.backward(g)
            else:
                loss(R_k + rest, y[rows]).backward()
            m.optimizer.step(of=steps[rank])


def alone_step(parties: Sequence[Party], rows: Tensor, y: Tensor, loss: Loss) -> None:
    """Take one step of the first party, whose columns may be everybody's."""
    parties[0].optimizer.down(loss(parties[0].decide(parties[0].embed_rows(rows)), y[rows]))
