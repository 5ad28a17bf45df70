"""Gradients of a party's network, noised so that no row tells: DP-SGD.

Abadi et al. 2016 (arXiv:1607.00133), with the discrete Gaussian mechanism of
`vfl_flower.privacy.client_dp.gaussian` for the noise. A batch has B rows; x_i is a row, f_w(x_i)
its upload by weights w, g_i the gradient of the batch's loss by that upload, which came back:

    G_i = B d<g_i, f_w(x_i)>/dw                          (P,)  of each row by itself
    Y_i = trunc(G_i min(1, C / |G_i|) / step)            (P,)  whole numbers, |Y_i| step <= C
    G   = (sum_i Y_i + n) step / B,  n discrete Gaussian (P,)  what the optimizer gets

w are the P weights that f_w depends on, no others. g_i follows from what the party has sent and
been sent, so a row enters G by its Y_i alone: without the row's contribution the sum differs by C
at most, as `dp-gradient-clip` says. The sum is taken in whole numbers and is exact. What the
optimizer makes of G, be it momentum or weight decay, is post-processing.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from vfl_flower.crypto.discrete_gaussian import discrete_gaussian
from vfl_flower.crypto.discrete_sampling import Entropy
from vfl_flower.privacy.client_dp.gaussian import Gaussian

Pass = Callable[[Tensor], Tensor]
"""From row numbers, (B,), to their uploads, (B, D)."""

_NUMBERS = 2**20
"""Numbers of all rows' gradients that are held at a time."""


class RowGradients:
    """Per-row gradients of a network, clipped, summed and noised.

    Parameters
    ----------
    net : nn.Module
        Whose `grad` is set.
    mechanism : Gaussian
        That of rows.
    """

    def __init__(self, net: nn.Module, mechanism: Gaussian) -> None:
        self._net, self._mechanism = net, mechanism
        self._names: tuple[str, ...] = ()
        numbers = sum(each.numel() for each in net.parameters())
        self._size = max(_NUMBERS // max(numbers, 1), 1)

    def forward(self, run: Pass, rows: Tensor) -> Tensor:
        """Run a pass without a graph, part by part as `backward` does."""
        with torch.no_grad():
            return torch.cat([run(part) for part in rows.split(self._size)])

    @cached_property
    def _weights(self) -> dict[str, Tensor]:
        """Trainable weights, by name."""
        return {name: each for name, each in self._net.named_parameters() if each.requires_grad}

    def depended_on(self, run: Pass, rows: Tensor) -> tuple[str, ...]:
        """Return the names of the weights that a pass depends on.

        The same for all rows: a pass that takes each by itself cannot branch on its values.
        """
        if not self._names:
            with torch.enable_grad():
                found = torch.autograd.grad(
                    run(rows[:1]).sum(), [*self._weights.values()], allow_unused=True
                )
            pairs = zip(self._weights, found, strict=True)
            self._names = tuple(name for name, each in pairs if each is not None)
        return self._names

    def backward(
        self,
        run: Pass,
        rows: Tensor,
        gradient: Tensor,
        names: Sequence[str],
        entropy: Entropy = os.urandom,
    ) -> None:
        """Add G to the gradients of some weights.

        Parameters
        ----------
        run : callable
            The pass, in the state of the party's randomness that `forward` began in.
        rows : Tensor
            (B,) int32, distinct.
        gradient : Tensor
            g, (B, D).
        names : sequence of str
            Those of `depended_on`.
        entropy : callable
            Source of the noise.
        """
        weights = {name: self._weights[name] for name in names}
        parts = self._of_rows(run, rows, gradient, weights)
        clipped = [self._mechanism.clipped(len(rows) * part).sum(0) for part in parts]
        steps = np.sum(clipped, 0)
        steps += discrete_gaussian(self._mechanism.deviation, len(steps), entropy)
        noised = torch.from_numpy(steps * (self._mechanism.step / len(rows))).float()
        flat = noised.split([each.numel() for each in weights.values()])
        for weight, part in zip(weights.values(), flat, strict=True):
            made = part.reshape(weight.shape).to(weight.device)
            weight.grad = made if weight.grad is None else weight.grad + made

    def _of_rows(
        self, run: Pass, rows: Tensor, gradient: Tensor, weights: Mapping[str, Tensor]
    ) -> Iterator[Tensor]:
        """Yield the gradients of each row, (b, P), part by part."""
        passed = _Pass(self._net, run)
        values = {f"net.{name}": each.detach() for name, each in weights.items()}

        def product(values: Mapping[str, Tensor], row: Tensor, g: Tensor) -> Tensor:
            made: Tensor = functional_call(passed, dict(values), (row.unsqueeze(0),))
            return (made.squeeze(0) * g).sum()

        each_row = vmap(grad(product), in_dims=(None, 0, 0), randomness="different")
        with torch.no_grad():
            for part, g in zip(rows.split(self._size), gradient.split(self._size), strict=True):
                made = each_row(values, part, g)
                yield torch.cat([made[name].flatten(1) for name in values], 1)


class _Pass(nn.Module):
    """A pass through a network whose weights can be exchanged."""

    def __init__(self, net: nn.Module, run: Pass) -> None:
        super().__init__()
        self.net, self._run = net, run

    def forward(self, rows: Tensor) -> Tensor:
        """Run the pass: (B,) -> (B, D)."""
        return self._run(rows)
