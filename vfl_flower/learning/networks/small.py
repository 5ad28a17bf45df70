"""Small networks: MLP, CNN, LeNet, linear."""

import math

from torch import nn

from vfl_flower.learning.networks.base import Shape, SplitNet, head, image_of, without_bias


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
    return SplitNet(embed, without_bias(width, classes))
