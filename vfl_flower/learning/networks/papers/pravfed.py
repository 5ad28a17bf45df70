"""PraVFed's networks, by its text and the authors' program (github.com/wangshuo105/PraVFed_main).

An embedding is the output of a hidden layer, after its ReLU. So what is averaged over parties is
not linear in their columns, also under a top model of one layer.
"""

import math

from torch import nn

from vfl_flower.learning.dropout import Dropout
from vfl_flower.learning.networks.base import Shape, SplitNet, image_of, one_layer

_DROPPED = 0.5
"""Share of hidden numbers that are dropped: the program's; the paper names none."""


def dropped(width: int, classes: int) -> nn.Sequential:
    """Return a linear top model behind dropout."""
    return nn.Sequential(Dropout(_DROPPED), nn.Linear(width, classes))


def two_layers(width: int, classes: int) -> nn.Sequential:
    """Return a top model of two layers."""
    return nn.Sequential(nn.Linear(width, 192), nn.ReLU(), nn.Linear(192, classes))


def pravfed_mlp(shape: Shape, width: int, classes: int) -> SplitNet:
    """One hidden layer with dropout, and a linear top; D is 50."""
    embed = nn.Sequential(
        nn.Flatten(), nn.Linear(math.prod(shape), width), Dropout(_DROPPED), nn.ReLU()
    )
    return SplitNet(embed, one_layer(width, classes))


def pravfed_cnn(shape: Shape, width: int, classes: int) -> SplitNet:
    """Two convolutions of single pixels, two linear layers; D is 50."""
    channels, height, breadth = image_of("pravfed-cnn", shape, 2)
    embed = nn.Sequential(
        nn.Conv2d(channels, 64, 1),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Conv2d(64, 32, 1),
        Dropout(_DROPPED, channels=True),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * (height // 2) * (breadth // 2), width),
        nn.ReLU(),
    )
    return SplitNet(embed, dropped(width, classes))


def pravfed_lenet(shape: Shape, width: int, classes: int) -> SplitNet:
    """Two convolutions that hardly pool, three linear layers; D is 50.

    The text has three convolutions and one pooling; the program has two of each.
    """
    channels, height, breadth = image_of("pravfed-lenet", shape, 5)
    embed = nn.Sequential(
        nn.Conv2d(channels, 64, 2),
        nn.ReLU(),
        nn.MaxPool2d(2, stride=1),
        nn.Conv2d(64, 64, 2),
        nn.ReLU(),
        nn.MaxPool2d(2, stride=1),
        nn.Flatten(),
        nn.Linear(64 * (height - 4) * (breadth - 4), width),
        nn.ReLU(),
    )
    return SplitNet(embed, two_layers(width, classes))


def pravfed_table(shape: Shape, width: int, classes: int) -> SplitNet:
    """Two hidden layers, the first with dropout; D is 32.

    The program embeds after the first, which has 64 numbers.
    """
    embed = nn.Sequential(
        nn.Flatten(),
        nn.Linear(math.prod(shape), 64),
        nn.ReLU(),
        Dropout(_DROPPED),
        nn.Linear(64, width),
        nn.ReLU(),
    )
    return SplitNet(embed, one_layer(width, classes))
