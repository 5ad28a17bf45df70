"""Modules that draw from a party's own generator, and dropout among them."""

import torch
from torch import Tensor, nn


class Drawing(nn.Module):
    """A module that draws, from the generator that its party attaches.

    Attributes
    ----------
    generator : torch.Generator or None
        The party's, on the processor.
    """

    generator: torch.Generator | None = None


class Dropout(Drawing):
    """Dropout that draws from its party's generator, never from torch's global one.

    Parameters
    ----------
    p : float
        Probability of a zero, in [0, 1).
    channels : bool, optional
        Whether whole channels of (B, channels, ...) are dropped, and not single numbers.

    Raises
    ------
    ValueError
        If it is not.
    """

    def __init__(self, p: float, channels: bool = False) -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"the probability of a zero must be in [0, 1), not {p}")
        self.p, self.channels = p, channels

    def forward(self, x: Tensor) -> Tensor:
        """Drop entries in training with probability p; scale the others up."""
        if not self.training:
            return x
        shape = (*x.shape[:2], *[1] * (x.ndim - 2)) if self.channels else x.shape
        kept = torch.rand(shape, generator=self.generator) >= self.p
        return x * kept.to(x.device) / (1 - self.p)
