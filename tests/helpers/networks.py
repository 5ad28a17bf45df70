"""Networks that are hard to rebuild: BatchNorm, and dropout of both kinds."""

import math

import pytest
from torch import nn

from vfl_flower.config.catalog import NETWORKS, NetworkSpec
from vfl_flower.learning.dropout import Dropout
from vfl_flower.learning.networks.base import Shape, SplitNet


class GlobalNet(nn.Module):
    """A custom network whose dropout draws from torch's global generator undeclared."""

    def __init__(self, embed: nn.Module, decide: nn.Module) -> None:
        super().__init__()
        self.embed, self.decide = embed, decide


def halves(
    shape: Shape, width: int, classes: int, dropout: type[nn.Module]
) -> tuple[nn.Module, nn.Module]:
    """Return both halves, each with BatchNorm and dropout."""
    embed = nn.Sequential(
        nn.Flatten(),
        nn.Linear(math.prod(shape), 24),
        nn.BatchNorm1d(24),
        nn.ReLU(),
        dropout(0.3),
        nn.Linear(24, width),
    )
    decide = nn.Sequential(
        nn.BatchNorm1d(width), nn.ReLU(), dropout(0.2), nn.Linear(width, classes)
    )
    return embed, decide


def own_dropout(shape: Shape, width: int, classes: int) -> nn.Module:
    """BatchNorm, and this package's dropout."""
    return SplitNet(*halves(shape, width, classes, Dropout))


def global_dropout(shape: Shape, width: int, classes: int) -> nn.Module:
    """BatchNorm, and torch's dropout."""
    return GlobalNet(*halves(shape, width, classes, nn.Dropout))


def pixelwise(shape: Shape, width: int, classes: int) -> nn.Module:
    """One weight for all pixels: the image, but for scale and sign."""
    embed = nn.Sequential(nn.Conv2d(shape[0], 1, 1), nn.Flatten())
    return SplitNet(embed, nn.Linear(width, classes))


class TinyChain(nn.Module):
    """A small network that can be cut in two, at two places."""

    own_randomness = True

    def __init__(self, shape: Shape, classes: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Conv2d(shape[0], 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU()),
            *(nn.Conv2d(4, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Flatten(), Dropout(0.1), nn.Linear(8 * shape[1] * shape[2] // 4, classes)),
        )
        self.cuts = {"one": 3, "two": 7}


class Thrice(TinyChain):
    """The same, but that its pooling takes three pixels to one."""

    def __init__(self, shape: Shape, classes: int) -> None:
        super().__init__(shape, classes)
        self.layers[6] = nn.MaxPool2d(3, padding=1)


class TooMany(TinyChain):
    """The same for three classes more."""

    def __init__(self, shape: Shape, classes: int) -> None:
        super().__init__(shape, classes + 3)


class TileChain(TinyChain):
    """The same with a last layer for 4 x 4 tiles only."""

    def __init__(self, shape: Shape, classes: int) -> None:
        super().__init__(shape, classes)
        self.layers[-1] = nn.Linear(8 * 2 * 2, classes)


class Unlearning(TinyChain):
    """The same with nothing to learn behind its second cut."""

    def __init__(self, shape: Shape, classes: int) -> None:
        super().__init__(shape, classes)
        self.layers = nn.Sequential(
            *(nn.Conv2d(shape[0], classes, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.AdaptiveAvgPool2d(1), nn.Flatten()),
        )
        self.cuts = {"two": 3}


class NoChain(nn.Module):
    """No chain."""

    def __init__(self, shape: Shape, classes: int) -> None:
        super().__init__()


class DroppingChain(TinyChain):
    """The same with torch's dropout in the extractor, undeclared."""

    own_randomness = False

    def __init__(self, shape: Shape, classes: int) -> None:
        super().__init__(shape, classes)
        self.layers[2] = nn.Sequential(nn.ReLU(), nn.Dropout(0.2))


def register(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make both known to the configuration for one test."""
    monkeypatch.setitem(NETWORKS, "own-dropout", NetworkSpec(f"{__name__}:own_dropout"))
    monkeypatch.setitem(NETWORKS, "global-dropout", NetworkSpec(f"{__name__}:global_dropout"))
