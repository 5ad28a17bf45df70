"""Exact solution of a linear party's share of the ADMM.

Hu et al. 2019, arXiv:1907.07735. With X_k (B, F + 1) a party's columns of a batch and a column of
ones, and M_k (F + 1, C) its linear weights, its share o_k = X_k M_k of the prediction enters as in
`algorithms.admm_heads`, so that its sub-problem is a ridge regression:

    M_k = argmin (v . o_k + rho/2 |o_k - o_k^0|^2) / B + beta |M_k|^2
"""

from typing import Protocol, cast

import torch
from torch import Tensor, nn

from vfl_flower.parties.party import Party


class Hyperparameters(Protocol):
    """Options of the ADMM that the sub-problem depends on."""

    @property
    def rho(self) -> float:
        """Penalty factor."""

    @property
    def beta(self) -> float:
        """Weight of the squared norm, positive."""

    @property
    def head_rate(self) -> float:
        """Share of the way; 0: 1 / parties with columns."""


def solve_share(
    party: Party, rows: Tensor, o_0: Tensor, v: Tensor, options: Hyperparameters
) -> None:
    """Move a linear party towards the minimum of its sub-problem.

    The network is M_k = U W, and holds the best M_k of rank D, all of it if D is at least C. All
    parties go at once, each as if the others stood still: the whole way would overshoot as many
    times as there are parties.

    Parameters
    ----------
    party : Party
        The party, whose network is ``linear``.
    rows : Tensor
        The batch, (B,).
    o_0, v : Tensor
        (B, C); see `algorithms.admm_heads`.
    options : Hyperparameters
        Of the method.
    """
    embed, decide = cast("nn.Sequential", party.net.embed), cast("nn.Linear", party.net.decide)
    first, rho, beta = cast("nn.Linear", embed[-1]), options.rho, options.beta
    with torch.no_grad():
        columns = party.columns(rows).flatten(1).double()
        X = torch.cat([columns, columns.new_ones(len(rows), 1)], 1)
        M = torch.cat([first.weight.T, first.bias[None]]).double() @ decide.weight.double().T
        slope_of_o = v.to(X) + rho * (X @ M - o_0.to(X))
        gradient = X.T @ slope_of_o / len(X) + 2 * beta * M
        hessian = rho * X.T @ X / len(X) + 2 * beta * torch.eye(X.shape[1]).to(X)
        share = options.head_rate or 1 / party.cfg.holders
        _hold(first, decide, M - share * torch.linalg.solve(hessian, gradient))


def _hold(first: nn.Linear, last: nn.Linear, M: Tensor) -> None:
    """Set two layers to the halves of M's singular value decomposition.

    So the norm of the last says how large M is: its party's importance.
    """
    left, values, right = torch.linalg.svd(M, full_matrices=False)
    rank = min(len(values), last.in_features)
    root = values[:rank].sqrt()
    U, W = left[:, :rank] * root, root[:, None] * right[:rank]
    for layer in (first.weight, first.bias, last.weight):
        layer.zero_()
    first.weight[:rank].copy_(U[:-1].T)
    first.bias[:rank].copy_(U[-1])
    last.weight[:, :rank].copy_(W.T)
