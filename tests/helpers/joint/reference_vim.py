"""VIM's mathematics as plain PyTorch programs; see `tests.helpers.joint.reference`.

With ``paper=True`` parties descend Eq. 9, 22 and 23 as the paper has them, by lambda and s_k;
otherwise in the short form, by v, which is equal but for rounding.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn

from strategies.specs.admm import ADMMOptions
from strategies.specs.vimadmm import VIMADMMOptions
from strategies.specs.vimadmm_j import VIMADMMJOptions
from tests.helpers.joint.reference import total, within_bound
from tests.helpers.joint.reference_split import zero
from vfl_flower.algorithms.admm import weighted_z_update, z_update
from vfl_flower.algorithms.admm_heads import head_of
from vfl_flower.learning.batching import drawn
from vfl_flower.learning.losses import Labels, Loss
from vfl_flower.parties.party import Party


class Vim:
    """Keeps lambda of every row."""

    def __init__(self, *, paper: bool = False, rounded: bool = True) -> None:
        self.paper, self.rounded, self.duals = paper, rounded, torch.empty(0)
        self.steps, self.last = 0, torch.empty(0)

    def solve(self, a: Tensor, rows: Tensor, y: Tensor, rho: float) -> tuple[Tensor, Tensor]:
        """Return z and lambda by Eq. 5 and 6."""
        if not len(self.duals):
            self.duals = torch.zeros(len(y), 10)
        labels: Labels = y[rows]
        if isinstance(labels, Tensor):
            solved = z_update(a, self.duals[rows], labels, rho)
        else:
            solved = weighted_z_update(a, self.duals[rows], labels.y, rho, labels.weight)
        self.duals[rows] = solved.dual.float()
        return solved.z.float(), self.duals[rows]

    def present(self, parties: Sequence[Party]) -> list[Party]:
        """Return who takes part in this step."""
        asked = drawn(parties[0].cfg, self.steps)
        self.steps += 1
        return [parties[0], *(parties[k] for k in asked)]

    def said(self, fresh: dict[int, Tensor], rows: Tensor, N: int, K: int) -> list[Tensor]:
        """Return all parties' values in order: fresh, cached, or zeros."""
        if not len(self.last):
            self.last = torch.zeros(K + 1, N, fresh[max(fresh)].shape[1])
        for rank in set(fresh) - {0}:
            self.last[rank, rows] = fresh[rank]
        return [fresh[0], *self.last[1:, rows]]

    def value(
        self,
        o: Tensor,
        o_0: Tensor,
        a: Tensor,
        z: Tensor,
        dual: Tensor,
        rho: float,
        o_k: Tensor | None = None,
    ) -> Tensor:
        """Return a party's objective of o; o_k, or o_0, is in a."""
        if self.paper:
            s_k = z - (a - (o_0 if o_k is None else o_k))
            return ((dual * o).sum() + rho / 2 * ((s_k - o) ** 2).sum()) / len(o)
        v = dual + rho * (a - z)
        v = v if o_k is None else v + rho * (o_0 - o_k)
        return ((v * o).sum() + rho / 2 * ((o - o_0) ** 2).sum()) / len(o)


class VimAdmm(Vim):
    """Takes the steps of Algorithm 1; the heads are the active party's."""

    def __call__(self, parties: Sequence[Party], rows: Tensor, y: Tensor, loss: Loss) -> None:
        active, cfg = parties[0], parties[0].cfg
        options = cfg.own(VIMADMMOptions)
        first = cfg.parties - cfg.holders
        heads = heads_of(active)
        graphs = {m.rank: m.embed_rows(rows) for m in self.present(parties)}
        fresh = {rank: H_k.detach() for rank, H_k in graphs.items()}
        H = self.said(fresh, rows, len(y), cfg.parties - 1)[first:]
        each = [head(H_k) for head, H_k in zip(heads, H, strict=True)]
        a = torch.stack(each).sum(0)
        z, dual = self.solve(a.detach(), rows, y, options.rho)
        heads.zero_grad()
        (a * ((dual + options.rho * (a.detach() - z)) / len(rows))).sum().backward()
        for head, H_k in zip(heads, H, strict=True):
            step = ridge if options.heads == "ridge" else sgd
            step(head, H_k, active)  # type: ignore[arg-type]
        heads.eval()
        printed = options.residual == "new-heads"
        everybody = added(heads, H).detach() if printed else a.detach()
        old: list[Tensor | None] = [None if printed else o.detach() for o in each]
        for rank in sorted(set(graphs) & set(range(first, cfg.parties))):
            head, o_k = heads[rank - first], old[rank - first]
            o_0 = head(graphs[rank]).detach()
            value = partial(self.value, a=everybody, z=z, dual=dual, rho=options.rho, o_k=o_k)
            self.descend(parties[rank], head, graphs[rank], rows, partial(value, o_0=o_0))
        active.randomness.attach(heads)
        heads.train()

    @staticmethod
    def descend(
        m: Party, head: nn.Module, H: Tensor, rows: Tensor, value: Callable[[Tensor], Tensor]
    ) -> None:
        """Take a party's steps; its own generator draws dropout."""
        options = m.cfg.own(VIMADMMOptions)
        m.randomness.attach(head)
        head.train(options.residual == "old-heads")
        for step in range(options.local_steps):
            o = head(m.embed_rows(rows) if step else H)
            zero([m])
            value(o).backward()
            m.optimizer.step(of=options.local_steps)


def heads_of(active: Party) -> nn.ModuleList:
    """Return the heads as the active party draws them at first."""
    if not hasattr(active.net, "heads"):
        cfg = active.cfg
        with active.randomness.building():
            each = [head_of(cfg.embedding_dim, 10, cfg.top_layers or 1) for _ in range(cfg.holders)]
        active.net.heads = nn.ModuleList(each)
        active.randomness.attach(active.net.heads)
    return active.net.heads  # type: ignore[return-value]


def added(heads: nn.ModuleList, H: Sequence[Tensor]) -> Tensor:
    """Return the prediction."""
    return torch.stack([head(H_k) for head, H_k in zip(heads, H, strict=True)]).sum(0)


def sgd(head: nn.Module, H_k: Tensor, m: Party) -> None:
    """Step a head down Eq. 7."""
    options = m.cfg.own(ADMMOptions)
    for W in head.parameters():
        slope = W.grad + 2 * options.beta * W.data  # type: ignore[operator]
        W.data -= (options.head_rate or usual_rate(m)) * slope


def usual_rate(m: Party) -> float:
    """Return the heads' rate where none is given."""
    rates = {"sgd": 0.05, "momentum": 0.01}
    own = m.cfg.own(ADMMOptions)
    read = getattr(own, "residual", ""), getattr(own, "head_steps", "")
    if "old-heads" in read or "as-program" in read:
        return rates.get(m.cfg.optimizer_of(m.rank), 0.001)
    return 0.001


def ridge(head: nn.Linear, H_k: Tensor, active: Party) -> None:
    """Take a damped step of a head towards Eq. 7's minimum.

    Eq. 7 is a quadratic: its minimum lies one Newton step away.
    """
    options, H, b = active.cfg.own(ADMMOptions), H_k.double(), len(H_k)
    gradient = head.weight.grad + 2 * options.beta * head.weight.data  # type: ignore[operator]
    hessian = options.rho * H.T @ H / b + 2 * options.beta * torch.eye(H.shape[1]).double()
    way = torch.linalg.solve(hessian, gradient.double().T).T.float()
    head.weight.data -= (options.head_rate or 1 / active.cfg.holders) * way


class VimAdmmJ(Vim):
    """Takes the steps of Algorithm 3; each decision net is a head."""

    def __call__(self, parties: Sequence[Party], rows: Tensor, y: Tensor, loss: Loss) -> None:
        cfg = parties[0].cfg
        options = cfg.own(VIMADMMJOptions)
        graphs = {m.rank: m.embed_rows(rows) for m in self.present(parties)}
        o = {
            rank: within_bound(parties[rank], parties[rank].decide(H_k.detach()).detach())
            for rank, H_k in graphs.items()
        }
        each = self.said(o, rows, len(y), cfg.parties - 1)
        a = each[0] + total(each[1:], rounded=self.rounded)
        z, dual = self.solve(a, rows, y, options.rho)
        for rank in sorted(set(graphs) & set(range(cfg.parties - cfg.holders, cfg.parties))):
            m, o_0 = parties[rank], o[rank]
            for step in range(options.local_steps):
                H = m.embed_rows(rows) if step else graphs[rank]
                m.net.zero_grad()
                self.descend(
                    m, H, partial(self.value, o_0=o_0, a=a, z=z, dual=dual, rho=options.rho)
                )
                for W in m.net.decide.parameters():  # type: ignore[union-attr]
                    W.grad = None
                m.optimizer.step(of=options.local_steps)

    @staticmethod
    def descend(m: Party, H: Tensor, value: Callable[[Tensor], Tensor]) -> None:
        """Step the head, and leave the network's gradient."""
        one_gradient = m.cfg.own(VIMADMMJOptions).head_steps != "in-turns"
        value(m.decide(H if one_gradient else H.detach())).backward()
        sgd(m.net.decide, H, m)  # type: ignore[arg-type]
        if not one_gradient:
            zero([m])
            value(m.decide(H)).backward()


class LinearAdmm(Vim):
    """Solves each party's ridge regression by least squares."""

    def __call__(self, parties: Sequence[Party], rows: Tensor, y: Tensor, loss: Loss) -> None:
        options = parties[0].cfg.own(ADMMOptions)
        o = [m.decide(m.embed_rows(rows)).detach() for m in parties]
        a = o[0] + total(o[1:], rounded=self.rounded)
        z, dual = self.solve(a, rows, y, options.rho)
        aim = (dual + options.rho * (a - z)) / options.rho
        for m, o_0 in zip(parties, o, strict=True):
            first: Any = cast("nn.Sequential", m.net.embed)[-1]
            W = cast("nn.Linear", m.net.decide).weight.detach().double()
            X = m.columns(rows).flatten(1).double()
            X = torch.cat([X, torch.ones(len(X), 1)], 1)
            M = torch.cat([first.weight.T, first.bias[None]]).detach().double() @ W.T
            fit, small = (options.rho / (2 * len(X))) ** 0.5, options.beta**0.5
            left = torch.cat([fit * X, small * torch.eye(X.shape[1])])
            right = torch.cat([fit * (o_0 - aim).double(), torch.zeros_like(M)])
            change = (torch.linalg.lstsq(left, right).solution - M) / len(parties)
            step = torch.linalg.lstsq(W, change.T).solution  # the least U whose U W is the change
            first.weight.data += step[:, :-1].float()
            first.bias.data += step[:, -1].float()


def product(party: Party) -> Tensor:
    """Return the linear weights of a party, (F + 1, C)."""
    first: Any = cast("nn.Sequential", party.net.embed)[-1]
    both = torch.cat([first.weight.T, first.bias[None]]).detach()
    return both @ cast("nn.Linear", party.net.decide).weight.detach().T
