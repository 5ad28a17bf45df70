"""Torchvision's networks as bottom models, with a stem for small tiles."""

from collections import OrderedDict
from functools import partial
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from vfl_flower.common.errors import NetworkError, last_line
from vfl_flower.learning.networks.base import Build, Shape, SplitNet, head, image_of

SMALL = 64
"""Images with a shorter side than this, in pixels, get the small stem."""

_FITTED = ("conv1.weight", "fc.weight", "fc.bias", "features.0.weight", "features.0.bias")
"""Layers that may keep their initial weights, for they depend on tile, channels and width."""


def _resnet(name: str, shape: Shape, width: int, classes: int) -> SplitNet:
    """Build one of torchvision's ResNets; its last layer gives the embedding.

    Small images meet a 3 x 3 convolution of stride 1 and no pooling, as is usual for CIFAR, in the
    place of a 7 x 7 one of stride 2 and a pooling.
    """
    # torchvision is slow to import
    from vfl_flower.common.optional.torchvision_import import models

    channels, height, breadth = image_of(name, shape, 1)
    net = getattr(models, name)(weights=None, num_classes=width)
    small = min(height, breadth) < SMALL
    if small:
        net.conv1, net.maxpool = nn.Conv2d(channels, 64, 3, padding=1, bias=False), nn.Identity()
    elif channels != 3:
        net.conv1 = nn.Conv2d(channels, 64, 7, stride=2, padding=3, bias=False)
    nn.init.kaiming_normal_(net.conv1.weight, mode="fan_out", nonlinearity="relu")
    return SplitNet(net, head(width, classes))


resnet18: Build = partial(_resnet, "resnet18")
resnet34: Build = partial(_resnet, "resnet34")
resnet50: Build = partial(_resnet, "resnet50")
resnet101: Build = partial(_resnet, "resnet101")
resnet152: Build = partial(_resnet, "resnet152")


def vgg16_bn(shape: Shape, width: int, classes: int) -> SplitNet:
    """Build the convolutions of torchvision's VGG-16 with batch normalisation, and one layer.

    Poolings round up, so that small tiles do not vanish; the map is averaged over its pixels.
    """
    # torchvision is slow to import
    from vfl_flower.common.optional.torchvision_import import models

    channels, *_ = image_of("vgg16_bn", shape, 1)
    features = models.vgg.make_layers(models.vgg.cfgs["D"], batch_norm=True)
    if channels != 3:
        features[0] = nn.Conv2d(channels, 64, 3, padding=1)
    for layer in features:
        if isinstance(layer, nn.MaxPool2d):
            layer.ceil_mode = True
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    embed = nn.Sequential(
        OrderedDict(
            features=features,
            pool=nn.AdaptiveAvgPool2d(1),
            flat=nn.Flatten(),
            fc=nn.Linear(512, width),
        )
    )
    return SplitNet(embed, head(width, classes))


def load_weights(embed: nn.Module, path: Path) -> None:
    """Start an embedding net from published weights, all layers but `_FITTED` ones.

    Parameters
    ----------
    embed : nn.Module
        The embedding net of a ResNet or VGG.
    path : Path
        Torchvision's weights: safetensors, or a file of tensors by ``torch.save``. It is never
        unpickled into anything but tensors.

    Raises
    ------
    NetworkError
        If it cannot be read, or is not for this network.
    """
    given, own = _read(path), embed.state_dict()
    fitting = {name: t for name, t in given.items() if name in own and own[name].shape == t.shape}
    lacking = [name for name in own if name not in fitting and name not in _FITTED]
    if lacking:
        raise NetworkError(
            f"{path} has no fitting '{lacking[0]}' (and {len(lacking) - 1} more): "
            "it is for another network"
        )
    embed.load_state_dict(own | fitting)


def _read(path: Path) -> dict[str, Tensor]:
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        given = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch.load raises whatever it likes for a damaged file
        raise NetworkError(f"weights {path} cannot be read", last_line(error)) from error
    if not isinstance(given, dict) or not all(isinstance(t, Tensor) for t in given.values()):
        raise NetworkError(f"weights {path} hold something else than named tensors")
    return given
