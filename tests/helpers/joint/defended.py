"""Steps of joint programs that change the gradients of passive parties."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from tests.helpers.joint.reference import total
from vfl_flower.learning.losses import Loss
from vfl_flower.parties.party import Party

Change = Callable[[Tensor], Tensor]


def defended_easter_step(
    parties: Sequence[Party], rows: Tensor, y: Tensor, loss: Loss, *, change: Change
) -> None:
    """Take one step; the active party descends its own loss."""
    e = [m.embed_rows(rows) for m in parties]
    E = (e[0].detach() + total(e[1:], rounded=True)) / len(parties)
    shares = [E + (e_k - e_k.detach()) / len(parties) for e_k in e]
    R = [m.decide(share) for m, share in zip(parties, shares, strict=True)]
    for m in parties:
        m.optimizer.optimizer.zero_grad()
    for rank, R_k in enumerate(R):
        leaf = R_k.detach().requires_grad_()
        (g,) = torch.autograd.grad(loss(leaf, y[rows]), leaf)
        R_k.backward(change(g) if rank else g)
    for m in parties:
        m.optimizer.step()


def defended_splitnn_step(
    parties: Sequence[Party], rows: Tensor, y: Tensor, loss: Loss, *, change: Change
) -> None:
    """Take one step; every passive party has its own changed gradient."""
    E = [m.embed_rows(rows) for m in parties]
    leaves = [E_k.detach().requires_grad_() for E_k in E]
    for m in parties:
        m.optimizer.optimizer.zero_grad()
    loss(parties[0].decide(torch.cat(leaves, 1)), y[rows]).backward()
    for rank, (E_k, leaf) in enumerate(zip(E, leaves, strict=True)):
        assert leaf.grad is not None
        E_k.backward(change(leaf.grad) if rank else leaf.grad)
    for m in parties:
        m.optimizer.step()
