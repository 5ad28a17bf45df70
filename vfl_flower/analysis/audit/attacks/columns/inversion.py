"""Gradient descent on columns, until networks make the uploads of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from vfl_flower.common.codec import Array

RATE, PENALTY = 0.05, 1e-3
_LEAST = 1e-12  # of a variance


@dataclass(frozen=True)
class Prior:
    """Gaussian prior of a party's columns: x = mean + z basis.

    z is N(0, I).

    Attributes
    ----------
    mean, basis : Tensor
        (width,) and (r, width).
    shape : tuple of int
        Of one row's columns.
    """

    mean: Tensor
    basis: Tensor
    shape: tuple[int, ...]

    @classmethod
    def of(cls, known: Tensor) -> "Prior":
        """Fit the prior to known rows: (n, ...)."""
        rows = known.flatten(1)
        mean = rows.mean(0)
        _, sizes, right = torch.linalg.svd(rows - mean, full_matrices=False)
        basis = right * (sizes / max(len(rows) - 1, 1) ** 0.5)[:, None]
        return cls(mean, basis, tuple(known.shape[1:]))

    def columns(self, z: Tensor) -> Tensor:
        """Return columns: (B, r) -> (B, ...)."""
        made: Tensor = (self.mean + z @ self.basis).unflatten(1, self.shape)
        return made


def solved(
    priors: Sequence[Prior],
    forward: Callable[[Sequence[Tensor]], Tensor],
    target: Tensor,
    steps: int,
) -> list[Tensor]:
    """Find the likeliest inputs of networks for an output.

    Minimise ``|f(x_1..x_K) - target|^2 / var(target) + PENALTY |z|^2``, both means over numbers, by
    Adam, from the means of the priors.

    Parameters
    ----------
    priors : sequence of Prior
        Of each input.
    forward : callable
        f, from (B, ...) each to (B, D).
    target : Tensor
        (B, D).
    steps : int
        Of the descent.
    """
    hidden = [torch.zeros(len(target), len(each.basis), requires_grad=True) for each in priors]
    optimizer = torch.optim.Adam(hidden, RATE)
    scale = target.var().clamp_min(_LEAST)
    for _ in range(steps):
        optimizer.zero_grad()
        pairs = zip(priors, hidden, strict=True)
        error = ((forward([prior.columns(z) for prior, z in pairs]) - target) ** 2).mean() / scale
        penalty = torch.stack([(z**2).mean() for z in hidden]).sum() * PENALTY
        (error + penalty).backward()
        optimizer.step()
    with torch.no_grad():
        return [prior.columns(z) for prior, z in zip(priors, hidden, strict=True)]


def as_in_training(net: nn.Module) -> nn.Module:
    """Return a frozen network, normalising by batch and dropping nothing."""
    net.eval().requires_grad_(False)
    for module in net.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):  # noqa: SLF001  the one base class
            module.train()
    return net


def embedded(net: nn.Module, columns: Tensor) -> Tensor:
    """Run a bottom model: (B, ...) -> (B, width)."""
    made: Tensor = net.embed(columns)  # type: ignore[operator]
    return made.flatten(1)


def tensor(array: Array) -> Tensor:
    """Return uploads as a matrix of numbers: (B, ...) -> (B, width)."""
    return torch.from_numpy(array).float().flatten(1)
