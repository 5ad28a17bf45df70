"""VGG-16 with batch normalization for small tiles."""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from torch import nn

from vfl_flower.learning.dropout import Dropout
from vfl_flower.learning.networks.base import Shape, image_of
from vfl_flower.learning.networks.splittable import Chain

HIDDEN = 4096  # width of the classifier's two hidden layers


def vgg16_bn(shape: Shape, classes: int, width: float) -> Chain:
    """Build VGG-16 with batch normalisation.

    Its cuts are ``1C``, ``2C``, ``2C+1M`` and so on.

    Its last poolings are left out where they would leave nothing of the image, and what is left of
    larger images behind all five is averaged.

    Parameters
    ----------
    shape : tuple of int
        Channels, height and width.
    classes : int
        C.
    width : float
        What the channels, and the classifier's hidden layers, are multiplied by.
    """
    # torchvision is slow to import
    from vfl_flower.common.optional.torchvision_import import models

    channels, *size = image_of("vgg16_bn", shape, 1)
    plan = [n if n == "M" else _scaled(n, width) for n in models.vgg.cfgs["D"]]
    features = models.vgg.make_layers(plan, batch_norm=True)
    features[0] = nn.Conv2d(channels, plan[0], 3, padding=1)
    for layer in features:
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
            nn.init.zeros_(layer.bias)  # type: ignore[arg-type]  # it is there
    kept = list(_fitting(features, min(size)))
    hidden = _scaled(HIDDEN, width)
    classifier = (
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        *(nn.Linear(plan[-2], hidden), nn.ReLU(), Dropout(0.5)),
        *(nn.Linear(hidden, hidden), nn.ReLU(), Dropout(0.5)),
        nn.Linear(hidden, classes),
    )
    return Chain(shape, nn.Sequential(*kept, *classifier), _named(kept))


def _scaled(channels: int, width: float) -> int:
    return max(round(channels * width), 1)


def _fitting(features: nn.Sequential, side: int) -> Iterator[nn.Module]:
    """Yield layers, without poolings of maps one pixel wide or high."""
    for layer in features:
        if isinstance(layer, nn.MaxPool2d):
            if side < 2:
                continue
            side //= 2
        yield layer


def _named(layers: Sequence[nn.Module]) -> dict[str, int]:
    """Name the cuts: behind each convolution block, and each pooling."""
    blocks = list(accumulate(isinstance(layer, nn.ReLU) for layer in layers))
    pools = list(accumulate(isinstance(layer, nn.MaxPool2d) for layer in layers))
    ends = [n for n, layer in enumerate(layers) if isinstance(layer, nn.ReLU | nn.MaxPool2d)]
    return {f"{blocks[n]}C" + (f"+{pools[n]}M" if pools[n] else ""): n + 1 for n in ends}
