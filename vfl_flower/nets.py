"""The small networks of the papers, each in two halves: `embed` and `decide`.

`embed` maps a party's columns to the common width D, `decide` maps D to class logits. All take any
shape of columns that leaves something to convolve; the decision net starts with a ReLU, so that
the global embedding, a mean of linear outputs, meets a non-linearity.
"""

import math
from collections.abc import Callable
from functools import partial
from importlib import import_module
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from vfl_flower.errors import NetworkError, last_line

Shape = tuple[int, ...]
Build = Callable[[Shape, int, int], nn.Module]
"""From (shape of a row, D, C) to a network with `embed` and `decide`."""


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
    """A linear map of nothing to zeros, (B, 0) -> (B, n), with a parameter that has no entries.

    Through it, what is computed from its output can go backward like from any other network's.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(0, width))

    def forward(self, x: Tensor) -> Tensor:
        """Return zeros."""
        return x @ self.weight


def blank(classes: int) -> SplitNet:
    """Return the network of a party without columns: its embedding is (B, 0), its logits are 0."""
    return SplitNet(Blank(0), Blank(classes))


def mlp(shape: Shape, width: int, classes: int) -> SplitNet:
    """Three fully connected layers; takes columns of any shape."""
    embed = nn.Sequential(
        nn.Flatten(), nn.Linear(math.prod(shape), 128), nn.ReLU(), nn.Linear(128, width)
    )
    return SplitNet(embed, head(width, classes))


def cnn(shape: Shape, width: int, classes: int) -> SplitNet:
    """Two convolutions and two fully connected layers; takes (channels, height, width)."""
    channels, height, breadth = image_of("cnn", shape, 1)
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
    return SplitNet(embed, head(width, classes))


def lenet(shape: Shape, width: int, classes: int) -> SplitNet:
    """Three convolutions, one pooling and three fully connected layers; takes images."""
    channels, height, breadth = image_of("lenet", shape, 2)
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
    return SplitNet(embed, head(width, classes))


def linear(shape: Shape, width: int, classes: int) -> SplitNet:
    """Two linear maps and nothing between them: logistic regression, through D numbers."""
    embed = nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), width))
    return SplitNet(embed, nn.Linear(width, classes, bias=False))


def vim_mlp(shape: Shape, width: int, classes: int) -> SplitNet:
    """VIM's two fully connected layers, with a ReLU after both, and a linear head without bias."""
    embed = nn.Sequential(
        nn.Flatten(),
        nn.Linear(math.prod(shape), 120),
        nn.ReLU(),
        nn.Linear(120, width),
        nn.ReLU(),
    )
    return SplitNet(embed, nn.Linear(width, classes, bias=False))


def vim_cnn(shape: Shape, width: int, classes: int) -> SplitNet:
    """Four convolutions with average pooling, as Opacus' tutorial has them; takes images."""
    channels, _, _ = image_of("vim-cnn", shape, 8)
    sizes = pairwise([channels, 32, 64, 64])
    blocks = [
        layer
        for a, b in sizes
        for layer in (nn.Conv2d(a, b, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2))
    ]
    last = [nn.Conv2d(64, 128, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    embed = nn.Sequential(*blocks, *last, nn.Linear(128, width))
    return SplitNet(embed, nn.Linear(width, classes, bias=False))


BACKBONES = ("resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "vgg16_bn")


def _backbone(name: str, shape: Shape, width: int, classes: int) -> nn.Module:
    from vfl_flower import backbones  # torchvision is slow to import

    return backbones.build(name, shape, width, classes)


NETWORKS: dict[str, Build] = {
    "mlp": mlp,
    "cnn": cnn,
    "lenet": lenet,
    "linear": linear,
    "vim-mlp": vim_mlp,
    "vim-cnn": vim_cnn,
    **{name: partial(_backbone, name) for name in BACKBONES},
}
"""Networks by name."""


def network(name: str) -> Build:
    """Find what builds a network: one of `NETWORKS`, or a user's own ``package.module:Class``.

    Raises
    ------
    NetworkError
        If the user's own cannot be imported.
    """
    return imported(name) if ":" in name else NETWORKS[name]


def imported(name: str) -> Any:  # noqa: ANN401
    """Import a user's own ``package.module:Class``.

    Raises
    ------
    NetworkError
        If it cannot be imported.
    """
    module, _, attribute = name.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except Exception as error:  # whatever a user's module raises
        raise NetworkError(
            f"network '{name}' cannot be imported; its folder must be on PYTHONPATH, or its "
            "package installed",
            last_line(error),
        ) from error


def check_halves(
    net: nn.Module, name: str, x: Tensor, width: int, joint: int, classes: int
) -> None:
    """Try both halves of a user's network on some made rows.

    What `decide` takes is `joint` numbers wide: `width`, or that of all embeddings side by side.

    Raises
    ------
    NetworkError
        If they are missing, fail, or give other shapes than (B, D) and (B, C).
    """
    try:
        with torch.no_grad():
            net.eval()
            embedding = net.embed(x)  # type: ignore[operator]
            logits = net.decide(embedding.repeat(1, joint // width))  # type: ignore[operator]
        shapes = tuple(embedding.shape), tuple(logits.shape)
    except Exception as error:  # whatever a user's network raises
        raise NetworkError(f"network '{name}' failed on two rows", last_line(error)) from error
    if shapes != ((len(x), width), (len(x), classes)):
        raise NetworkError(
            f"network '{name}' gives shapes {shapes[0]} and {shapes[1]} for two rows; embed must "
            f"give (2, {width}) and decide (2, {classes})"
        )


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


def image_of(name: str, shape: Shape, least: int) -> Shape:
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
