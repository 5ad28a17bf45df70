"""Convolutional networks as layer chains, cut in two by name.

The layers before the cut are the extractor, those behind it the classifier. An extractor that
convolves and pools within small windows can work on tiles: side by side, its maps of the tiles are
what it would make of the whole image, but for the tiles' edges. `mirror` derives from an extractor
the decoder that makes an image of its map.
"""

from torch import nn

from vfl_flower.common.errors import NetworkError, last_line
from vfl_flower.common.names import load_object
from vfl_flower.config.catalog import NETWORKS
from vfl_flower.learning.networks.base import Shape
from vfl_flower.learning.networks.factory import imported
from vfl_flower.learning.networks.splittable import Chain


def _own(name: str, shape: Shape, classes: int) -> Chain:
    """Build a user's own chain from a class with `layers` and `cuts`.

    The class takes shape and classes.
    """
    made = imported(name)
    try:
        net = made(shape, classes)
        layers, cuts = net.layers, dict(net.cuts)
    except Exception as error:  # whatever a user's class raises
        raise NetworkError(f"network '{name}' cannot be built", last_line(error)) from error
    fitting = isinstance(layers, nn.Sequential) and all(
        type(at) is int and 0 < at < len(layers) for at in cuts.values()
    )
    if not fitting or not cuts:
        raise NetworkError(
            f"network '{name}' must have `layers`, an nn.Sequential from images to logits, and "
            "`cuts`, from names to numbers of layers, at least 1 and not all"
        )
    return Chain(shape, layers, cuts, getattr(net, "own_randomness", False))


def chain(name: str, shape: Shape, classes: int, width: float) -> Chain:
    """Build a network by name: built-in, or a user's ``package.module:Class``.

    Raises
    ------
    NetworkError
        If it cannot be built, or cut.
    """
    if ":" in name:
        return _own(name, shape, classes)
    if not NETWORKS[name].chain:
        raise NetworkError(f"network '{name}' cannot be cut in two")
    made: Chain = load_object(NETWORKS[name].chain)(shape, classes, width)
    return made


def padded(extractor: nn.Sequential, padding: str) -> nn.Sequential:
    """Let zero-padding convolutions of an extractor pad by the nearest pixels."""
    for layer in extractor.modules():
        if isinstance(layer, nn.Conv2d) and layer.padding_mode == "zeros":
            layer.padding_mode = padding  # type: ignore[assignment]  # any of torch's
    return extractor
