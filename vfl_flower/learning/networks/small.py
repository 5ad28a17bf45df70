"""Small networks: MLP, CNN, LeNet, linear, and VIM's."""

import math
from itertools import pairwise

from torch import nn

from vfl_flower.learning.networks.base import Shape, SplitNet, head, image_of

_SIDE = 32
"""Pixels that VIM's patches are enlarged to, along both sides."""


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
    """VIM's MLP: two layers with ReLU, and a bias-free linear head."""
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


def vim_cnn_32(shape: Shape, width: int, classes: int) -> SplitNet:
    """VIM's CNN on enlarged patches, with batch normalisation and a last ReLU."""
    channels, _, _ = image_of("vim-cnn-32", shape, 1)
    sizes = pairwise([channels, 32, 64, 64])
    blocks = [
        layer
        for a, b in sizes
        for layer in (
            *(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU()),
            nn.AvgPool2d(2),
        )
    ]
    last = [nn.Conv2d(64, 128, 3, padding=1), nn.BatchNorm2d(128), nn.ReLU()]
    end = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, width), nn.ReLU()]
    embed = nn.Sequential(nn.Upsample((_SIDE, _SIDE), mode="bilinear"), *blocks, *last, *end)
    return SplitNet(embed, nn.Linear(width, classes, bias=False))
