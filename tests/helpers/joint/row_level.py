"""Row-level privacy's mathematics as loops over rows, for joint programs."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vfl_flower.parties.party import Party
from vfl_flower.privacy.client_dp.gaussian import Gaussian

Noise = NDArray[np.int64]


def public_noise(deviation: int, size: int, entropy: object = None) -> Noise:
    """Return noise that follows from its size alone."""
    drawn: Noise = np.rint(np.random.default_rng(size).normal(0, deviation, size)).astype(np.int64)
    return drawn


def shortened(x: Tensor, clip: float) -> Tensor:
    """Clip each row to a norm: (B, D), either way."""
    return x * torch.minimum(torch.ones(()), clip / x.norm(dim=1, keepdim=True))


def noised(x: Tensor, mechanism: Gaussian) -> Tensor:
    """Add public noise to clipped values of any shape."""
    noise = public_noise(mechanism.deviation, x.numel()).reshape(x.shape)
    return (x.detach().double() + torch.from_numpy(noise) * mechanism.step).float()


def sum_of_rows(party: Party, rows: Tensor, g: Tensor, half: nn.Module) -> Tensor:
    """Return the sum of rows' clipped gradients, (P,), by a loop.

    Of the weights of one half of the network, given the gradients of the uploads, (B, D).
    """
    cfg, total = party.cfg, torch.zeros(sum(each.numel() for each in half.parameters()))
    for row, g_i in zip(rows, g, strict=True):
        upload = shortened(uploaded(party, row[None], half), cfg.dp_clip)
        found = torch.autograd.grad((upload[0] * g_i).sum(), [*half.parameters()])
        flat = len(rows) * torch.cat([each.flatten() for each in found])
        total += flat * min(1.0, cfg.dp_gradient_clip / max(float(flat.norm()), 1e-30))
    return total


def uploaded(party: Party, rows: Tensor, half: nn.Module) -> Tensor:
    """Return an upload before its clip: embedding or logits."""
    E = party.embed_rows(rows)
    return party.decide(E) if half is party.net else E


def step_by_rows(party: Party, rows: Tensor, g: Tensor, half: nn.Module, sigma: float) -> None:
    """Set the noised gradient of one half of a network, and step."""
    mechanism = Gaussian(sigma, party.cfg.dp_gradient_clip, by_row=True)
    flat = noised(sum_of_rows(party, rows, g, half), mechanism) / len(rows)
    weights = [*half.parameters()]
    for weight, part in zip(weights, flat.split([each.numel() for each in weights]), strict=True):
        weight.grad = part.reshape(weight.shape)
    party.optimizer.step()


def sent_of(parties: Sequence[Party], rows: Tensor, half: str, sigma: float) -> list[Tensor]:
    """Return the passive parties' noised uploads, leaves each."""
    sent = []
    for party in parties[1:]:
        net = party.net if half == "" else getattr(party.net, half)
        x = shortened(uploaded(party, rows, net), party.cfg.dp_clip)
        mechanism = Gaussian(sigma, party.cfg.dp_clip, by_row=True)
        sent.append(noised(x, mechanism).requires_grad_())
    return sent
