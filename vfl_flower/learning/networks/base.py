"""Interface of networks and the heads they share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from itertools import pairwise

import torch
from torch import Tensor, nn

from vfl_flower.common.errors import NetworkError

Shape = tuple[int, ...]
Build = Callable[[Shape, int, int], nn.Module]
"""From (shape of a row, D, C) to a network with `embed` and `decide`."""


@contextmanager
def trying(net: nn.Module) -> Iterator[None]:
    """Enclose a trial of a network: in evaluation mode, without gradients."""
    training = net.training
    net.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        net.train(training)


class TopInput(Enum):
    """Input of a party's top model; the values stand in model folders."""

    EMBEDDING = "embedding"
    """The party's own embedding, or feature map, (B, D)."""

    JOINED = "joined"
    """All parties' embeddings side by side, (B, (K + 1) D)."""

    ADDED = "added"
    """All parties' embeddings added up, (B, D)."""

    TILED = "tiled"
    """All parties' feature maps, joined to those of whole images."""

    MIRROR = "mirror"
    """The party's own feature map, of which a decoder makes an image."""


class SplitNet(nn.Module):
    """A network in two halves that draws on no global randomness.

    Attributes
    ----------
    embed : nn.Module
        (B, ...) -> (B, D).
    decide : nn.Module
        (B, D) -> (B, C).
    """

    own_randomness = True

    def __init__(self, embed: nn.Module, decide: nn.Module) -> None:
        super().__init__()
        self.embed, self.decide = embed, decide


class Blank(nn.Module):
    """Linear map of empty rows to zeros: (B, 0) -> (B, n).

    Its parameter has no entries.

    Through it, what is computed from its output can go backward like from any other network's.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(0, width))

    def forward(self, x: Tensor) -> Tensor:
        """Return zeros."""
        return x @ self.weight


class Added(nn.Module):
    """Sum of joined embeddings: (B, K C) -> (B, C)."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.classes = classes

    def forward(self, joined: Tensor) -> Tensor:
        """Return the sum."""
        return torch.sum(joined.unflatten(1, (-1, self.classes)), 1)


def blank(classes: int) -> SplitNet:
    """Build the network of a party without columns.

    Its embedding is (B, 0), and its logits are 0.
    """
    return SplitNet(Blank(0), Blank(classes))


HIDDEN = 256  # width of a decision net's hidden layers


def head(width: int, classes: int, layers: int = 1) -> nn.Module:
    """Return the decision net of this package's networks.

    One linear layer has a ReLU before it; several have one between any two.
    """
    if layers == 1:
        return nn.Sequential(nn.ReLU(), nn.Linear(width, classes))
    sizes = [width, *[HIDDEN] * (layers - 1), classes]
    linear = [nn.Linear(a, b) for a, b in pairwise(sizes)]
    hidden = [module for each in linear[:-1] for module in (each, nn.ReLU())]
    return nn.Sequential(*hidden, linear[-1])


def one_layer(width: int, classes: int) -> nn.Linear:
    """Return a decision net of one linear layer."""
    return nn.Linear(width, classes)


def without_bias(width: int, classes: int) -> nn.Linear:
    """Return a decision net of one linear layer without a bias."""
    return nn.Linear(width, classes, bias=False)


def image_of(name: str, shape: Shape, least: int) -> Shape:
    """Refuse rows other than images with sides of `least` pixels."""
    if len(shape) != 3:
        raise NetworkError(
            f"{name} takes images, and this party's rows have shape {shape}; use mlp"
        )
    if min(shape[1:]) < least:
        raise NetworkError(
            f"{name} takes images of at least {least}x{least} pixels, and this party's rows have "
            f"shape {shape}; use mlp, fewer parties or another partition"
        )
    return shape
