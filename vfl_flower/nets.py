"""The small networks of the papers, each in two halves: `embed` and `decide`.

`embed` maps a party's columns to the common width D, `decide` maps D to class logits. All take any
shape of columns that leaves something to convolve; the decision net starts with a ReLU, so that
the global embedding, a mean of linear outputs, meets a non-linearity.
"""

import math
from collections.abc import Callable

from torch import nn

from vfl_flower.errors import NetworkError

Shape = tuple[int, ...]


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


def mlp(shape: Shape, width: int, classes: int) -> SplitNet:
    """Three fully connected layers; takes columns of any shape."""
    embed = nn.Sequential(
        nn.Flatten(), nn.Linear(math.prod(shape), 128), nn.ReLU(), nn.Linear(128, width)
    )
    return SplitNet(embed, _head(width, classes))


def cnn(shape: Shape, width: int, classes: int) -> SplitNet:
    """Two convolutions and two fully connected layers; takes (channels, height, width)."""
    channels, height, breadth = _image("cnn", shape, 1)
    embed = nn.Sequential(
        nn.Conv2d(channels, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2, ceil_mode=True),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2, ceil_mode=True),
        nn.Flatten(),
        nn.Linear(32 * math.ceil(height / 4) * math.ceil(breadth / 4), width),
    )
    return SplitNet(embed, _head(width, classes))


def lenet(shape: Shape, width: int, classes: int) -> SplitNet:
    """Three convolutions, one pooling and three fully connected layers; takes images."""
    channels, height, breadth = _image("lenet", shape, 2)
    embed = nn.Sequential(
        nn.Conv2d(channels, 6, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5, padding=2),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * (height // 2) * (breadth // 2), 120),
        nn.ReLU(),
        nn.Linear(120, width),
    )
    return SplitNet(embed, _head(width, classes))


NETWORKS: dict[str, Callable[[Shape, int, int], nn.Module]] = {
    "mlp": mlp,
    "cnn": cnn,
    "lenet": lenet,
}
"""Networks by name: from (shape of a row, D, C)."""


def _head(width: int, classes: int) -> nn.Module:
    return nn.Sequential(nn.ReLU(), nn.Linear(width, classes))


def _image(name: str, shape: Shape, least: int) -> Shape:
    """Check that a row is an image of at least `least` by `least` pixels."""
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
