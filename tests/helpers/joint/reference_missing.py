"""Methods that sum, with missing parties, as plain PyTorch programs.

A party computes on the rows that it has. Elsewhere its summand is 0, by a product with the
presence, and autograd carries the gradients through it.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tests.helpers.joint.reference import total, within_bound
from tests.helpers.joint.reference_split import zero
from tests.helpers.joint.reference_vim import VimAdmmJ
from vfl_flower.learning.losses import Loss
from vfl_flower.parties.party import Party

Patterns = Callable[[NDArray[np.int64]], NDArray[np.bool_]]
"""From rows (B,) to who adds to them in this step, (B, K)."""


class Missing:
    """Steps on rows with a pattern of presence each.

    Parameters
    ----------
    patterns : callable
        Is asked once a step.
    rounded : bool
        Whether summands are on the grid of masks.
    """

    def __init__(self, patterns: Patterns, *, rounded: bool) -> None:
        self.patterns, self.rounded = patterns, rounded

    def drawn(self, rows: Tensor) -> tuple[list[Tensor], Tensor]:
        """Return each party's rows, (B,) bool, and summands, (B, 1)."""
        present = torch.from_numpy(self.patterns(rows.numpy()))
        everywhere = torch.ones(len(rows), dtype=torch.bool)
        return [everywhere, *present.T], present.sum(1, keepdim=True)


class MissingEaster(Missing):
    """Takes EASTER's steps."""

    def __call__(self, parties: Sequence[Party], rows: Tensor, y: Tensor, loss: Loss) -> None:
        present, counts = self.drawn(rows)
        e = [
            spread(within_bound(m, m.embed_rows(rows[here])), here)
            for m, here in zip(parties, present, strict=True)
        ]
        E = (e[0].detach() + total(e[1:], rounded=self.rounded)) / (1 + counts)
        shares = [E + (e_k - e_k.detach()) / (1 + counts) for e_k in e]
        losses = [loss(m.decide(share), y[rows]) for m, share in zip(parties, shares, strict=True)]
        zero(parties)
        torch.stack(losses).sum().backward()
        for m in parties:
            m.optimizer.step()


class MissingLogits(Missing):
    """Takes steps of Agg_VFL or FDML, on sums or means."""

    def __init__(self, patterns: Patterns, *, rounded: bool, mean: bool = False) -> None:
        super().__init__(patterns, rounded=rounded)
        self.mean = mean

    def __call__(self, parties: Sequence[Party], rows: Tensor, y: Tensor, loss: Loss) -> None:
        present, counts = self.drawn(rows)
        divisor = 1 + counts if self.mean else torch.ones_like(counts)
        R_k = [
            spread(within_bound(m, m.decide(m.embed_rows(rows[here]))), here)
            for m, here in zip(parties, present, strict=True)
        ]
        R = (R_k[0].detach() + total(R_k[1:], rounded=self.rounded)) / divisor
        R = R + torch.stack([each - each.detach() for each in R_k]).sum(0) / divisor
        zero(parties)
        loss(R, y[rows]).backward()
        for m in parties:
            m.optimizer.step()


class MissingSplit(Missing):
    """Takes FedBCD's steps, of which SplitNN takes one."""

    placeholders: nn.Parameter | None = None

    def __init__(self, patterns: Patterns, *, rounded: bool, steps: int = 1) -> None:
        super().__init__(patterns, rounded=rounded)
        self.steps = steps

    def __call__(self, parties: Sequence[Party], rows: Tensor, y: Tensor, loss: Loss) -> None:
        active = parties[0]
        if self.placeholders is None:
            shape = (len(parties) - 1, active.cfg.embedding_dim)
            self.placeholders = nn.Parameter(torch.zeros(shape))
            active.net.register_parameter("placeholders", self.placeholders)
            active.optimizer.add(self.placeholders)
        present, _ = self.drawn(rows)
        e = [m.embed_rows(rows[here]) for m, here in zip(parties, present, strict=True)]
        leaves = [e_k.detach().requires_grad_() for e_k in e]
        for step in range(self.steps):
            zero(parties)
            e = [
                m.embed_rows(rows[here]) if step else e_k
                for m, here, e_k in zip(parties, present, e, strict=True)
            ]
            own = e[0].detach().requires_grad_()
            loss(active.decide(self.joined([own, *leaves[1:]], present)), y[rows]).backward()
            if not step:
                g = [leaf.grad for leaf in leaves]
                leaves = [leaf.detach() for leaf in leaves]
            for m, e_k, g_k in zip(parties, e, [own.grad, *g[1:]], strict=True):
                e_k.backward(g_k)
                m.optimizer.step(of=self.steps)

    def joined(self, e: Sequence[Tensor], present: Sequence[Tensor]) -> Tensor:
        """Put embeddings side by side, or their placeholders."""
        assert self.placeholders is not None
        pairs = zip(e[1:], present[1:], self.placeholders, strict=True)
        filled = (torch.where(here[:, None], spread(e_k, here), mark) for e_k, here, mark in pairs)
        return torch.cat([e[0], *filled], 1)


class MissingVimAdmmJ(Missing):
    """Takes VIMADMM-J's steps; each objective is a mean over own rows."""

    def __init__(self, patterns: Patterns, *, rounded: bool) -> None:
        super().__init__(patterns, rounded=rounded)
        self.whole = VimAdmmJ(rounded=rounded)

    def __call__(self, parties: Sequence[Party], rows: Tensor, y: Tensor, loss: Loss) -> None:
        options = parties[0].options
        rho: float = options.rho  # type: ignore[attr-defined]
        present, _ = self.drawn(rows)
        pairs = list(zip(parties, present, strict=True))
        graphs = [m.embed_rows(rows[here]) for m, here in pairs]
        o = [
            within_bound(m, m.decide(H.detach()).detach())
            for m, H in zip(parties, graphs, strict=True)
        ]
        each = [spread(o_k, here) for o_k, here in zip(o, present, strict=True)]
        a = each[0] + total(each[1:], rounded=self.rounded)
        z, dual = self.whole.solve(a, rows, y, rho)
        for (m, here), H_k, o_0 in zip(pairs, graphs, o, strict=True):
            for step in range(options.local_steps):  # type: ignore[attr-defined]
                H = m.embed_rows(rows[here]) if step else H_k
                m.net.zero_grad()
                self.whole.descend(m, H, self.objective(o_0, a[here], z[here], dual[here], rho))
                for W in m.net.decide.parameters():  # type: ignore[union-attr]
                    W.grad = None
                m.optimizer.step(of=options.local_steps)  # type: ignore[attr-defined]

    def objective(
        self, o_0: Tensor, a: Tensor, z: Tensor, dual: Tensor, rho: float
    ) -> Callable[[Tensor], Tensor]:
        """Return a party's objective of its logits on its rows."""
        return lambda o: self.whole.value(o, o_0, a, z, dual, rho)


def spread(values: Tensor, here: Tensor) -> Tensor:
    """Put zeros where a row is missing: (b, ...) -> (B, ...)."""
    places = torch.eye(len(here))[:, here]
    return torch.where(here[:, None], places @ values, 0.0)
