"""VIM's heads, and local steps on the augmented Lagrangian.

Xie et al. 2022, arXiv:2207.10226. A head W_k maps the embedding of party k to its share of the
prediction, o_k = W_k(H_k). With v = lambda + rho (a - z) the slope of the augmented Lagrangian at
the prediction a, and o_k^0 the share that is in a, with the noise that the party may have sent it
with, what Eq. 7, 9, 22 and 23 minimise over o_k is

    (v . o_k + rho/2 |o_k - o_k^0|^2) / B

and a constant: with s_k = z - (a - o_k^0) of Eq. 8 and 21, lambda . o_k + rho/2 |s_k - o_k|^2 has
the same gradient. So v, the same for all parties, is all that they need of lambda, z and s_k. Where
the head of o_k^0 is newer than that of the share in a, v_k = lambda - rho (s_k - o_k^0) stands for
v, as in VIMADMM.
"""

from collections.abc import Iterable
from typing import Protocol, cast

import torch
from torch import Tensor, nn

from vfl_flower.common.errors import NetworkError
from vfl_flower.common.names import party_name
from vfl_flower.learning.networks.base import without_bias
from vfl_flower.learning.networks.papers.vim import deep_top
from vfl_flower.parties.party import Party


class Hyperparameters(Protocol):
    """Options of the ADMM that parties' steps depend on."""

    @property
    def rho(self) -> float:
        """Penalty factor."""

    @property
    def beta(self) -> float:
        """Weight of the heads' squared norm."""

    @property
    def as_program(self) -> bool:
        """Whether steps are those of the authors' program, and not as printed."""

    @property
    def local_steps(self) -> int:
        """Steps of every party between exchanges (tau)."""

    def rate_of_heads(self, optimizer: str, rate: float) -> float:
        """Return the rate of heads, given a party's optimizer and rate."""


def head_of(width: int, classes: int, layers: int) -> nn.Module:
    """Build a head: one linear layer, or several.

    One has no bias; several have ReLU and dropout between them.
    """
    return deep_top(width, classes, layers) if layers > 1 else without_bias(width, classes)


def check_head(party: Party) -> None:
    """Refuse a custom network whose `decide` cannot be a head.

    Raises
    ------
    NetworkError
        If it is a method and no module.
    """
    if not isinstance(party.net.decide, nn.Module):
        raise NetworkError(
            f"{party_name(party.rank)}: {party.cfg.method} trains `decide` as a head; "
            f"that of '{party.cfg.model_of(party.rank)}' must be an nn.Module, not a method"
        )


def _share_value(o: Tensor, o_0: Tensor, v: Tensor, rho: float) -> Tensor:
    """Compute (v . o + rho/2 |o - o_0|^2) / B.

    All are (B, C).
    """
    return ((v * o).sum() + rho / 2 * (o - o_0).square().sum()) / len(o)


def descend(
    party: Party,
    rows: Tensor,
    H_k: Tensor,
    head: nn.Module,
    o_0: Tensor,
    v: Tensor,
    options: Hyperparameters,
) -> None:
    """Take tau steps of a party's embedding net on Eq. 9.

    Parameters
    ----------
    party : Party
        The party.
    rows : Tensor
        The batch, (B,).
    H_k : Tensor
        Its embedding with its graph, for the first step, (B, D).
    head : nn.Module
        Its head, (B, D) -> (B, C), whose weights stay as they are. It drops out in these steps, as
        in the authors' program, or not, and not after them.
    o_0, v : Tensor
        (B, C); see above.
    options : Hyperparameters
        Of the method.
    """
    rho, tau = options.rho, options.local_steps
    head.train(options.as_program)
    for step in range(tau):
        o_k = head(party.embed_rows(rows) if step else H_k)
        party.optimizer.down(_share_value(o_k, o_0, v, rho), of=tau)
    head.eval()


def descend_with_head(
    party: Party, rows: Tensor, H_k: Tensor, o_0: Tensor, v: Tensor, options: Hyperparameters
) -> None:
    """Take tau steps of head and network, Eq. 22 and 23.

    One gradient serves both, or the network has that of the head which has stepped.

    Parameters
    ----------
    party, rows, H_k, o_0, v, options
        As for `descend`.
    """
    head, eta = cast("nn.Module", party.net.decide), rate_of_head(party, options)
    for step in range(options.local_steps):
        if step:
            H_k = party.embed_rows(rows)
        leaf = H_k.detach().requires_grad_()
        head.zero_grad()
        _share_value(party.decide(leaf), o_0, v, options.rho).backward()
        step_head(head, options.beta, eta)
        if not options.as_program:
            leaf.grad = None
            _share_value(party.decide(leaf), o_0, v, options.rho).backward()
        party.optimizer.zero()
        H_k.backward(leaf.grad)
        party.optimizer.step(of=options.local_steps)


def rate_of_head(party: Party, options: Hyperparameters) -> float:
    """Return the rate of a party's SGD steps of a head."""
    name, _, _ = party.cfg.optimizer_of(party.rank).partition(":")
    return options.rate_of_heads(name, party.cfg.rate_of(party.rank))


def step_head(head: nn.Module, beta: float, rate: float) -> None:
    """Take one SGD step of Eq. 7 or 22 on computed gradients.

    The gradient of beta |W|^2 is added here.
    """
    with torch.no_grad():
        for W in head.parameters():
            if W.grad is not None:
                W.sub_(rate * (W.grad + 2 * beta * W))


def solve_head(head: nn.Linear, H_k: Tensor, beta: float, rho: float, share: float) -> None:
    """Take a damped Newton step to the minimum of Eq. 7.

    It uses computed gradients, and the other heads are fixed.

    All parties' heads go at once, each as if the others stood still, and all the way would
    overshoot as many times as there are parties.
    """
    with torch.no_grad():
        H = H_k.double()
        hessian = rho * H.T @ H / len(H) + 2 * beta * torch.eye(H.shape[1], dtype=H.dtype)
        gradient = cast("Tensor", head.weight.grad) + 2 * beta * head.weight  # (C, D)
        way = torch.linalg.solve(hessian, gradient.double().T).T
        head.weight -= share * way.float()


def norms(heads: Iterable[nn.Module]) -> list[float]:
    """Return each head's weight norm, its party's importance."""
    return [nn.utils.parameters_to_vector(head.parameters()).norm().item() for head in heads]
