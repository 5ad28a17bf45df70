"""VIM's networks, by the authors' program (github.com/AI-secure/VFL-ADMM)."""

import math
from itertools import pairwise

from torch import nn

from vfl_flower.learning.dropout import Dropout
from vfl_flower.learning.networks.base import Shape, SplitNet, image_of, without_bias

_DROPPED = 0.25
"""Share of hidden numbers that top models drop in training."""

_SIDE = 32
"""Pixels that patches are enlarged to, along both sides."""


def vim_mlp(shape: Shape, width: int, classes: int) -> SplitNet:
    """Two layers with ReLU, and a bias-free linear head."""
    embed = nn.Sequential(
        nn.Flatten(),
        nn.Linear(math.prod(shape), 120),
        nn.ReLU(),
        nn.Linear(120, width),
        nn.ReLU(),
    )
    return SplitNet(embed, without_bias(width, classes))


def vim_mlp_deep(shape: Shape, width: int, classes: int) -> SplitNet:
    """`vim_mlp` with a head of two layers."""
    return SplitNet(vim_mlp(shape, width, classes).embed, deep_top(width, classes, 2))


def vim_cnn(shape: Shape, width: int, classes: int) -> SplitNet:
    """Four convolutions with average pooling, as Opacus' tutorial has them; takes images."""
    channels, _, _ = image_of("vim-cnn", shape, 8)
    embed = nn.Sequential(*_convolutions(channels), nn.Linear(128, width))
    return SplitNet(embed, without_bias(width, classes))


def vim_cnn_32(shape: Shape, width: int, classes: int) -> SplitNet:
    """Enlarged patches, the same convolutions, a normalised embedding; takes images."""
    channels, _, _ = image_of("vim-cnn-32", shape, 1)
    end = [nn.Linear(128, width), nn.BatchNorm1d(width), nn.ReLU()]
    embed = nn.Sequential(nn.Upsample((_SIDE, _SIDE)), *_convolutions(channels), *end)
    return SplitNet(embed, without_bias(width, classes))


def deep_top(width: int, classes: int, layers: int) -> nn.Module:
    """Linear layers as wide as their input, with ReLU and dropout."""
    linear = [nn.Linear(a, b) for a, b in pairwise([*[width] * layers, classes])]
    hidden = [module for each in linear[:-1] for module in (each, nn.ReLU(), Dropout(_DROPPED))]
    return nn.Sequential(*hidden, linear[-1])


def _convolutions(channels: int) -> list[nn.Module]:
    """Return layers from an image to 128 numbers."""
    blocks = [
        layer
        for a, b in pairwise([channels, 32, 64, 64])
        for layer in (nn.Conv2d(a, b, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2))
    ]
    last = [nn.Conv2d(64, 128, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return [*blocks, *last]
