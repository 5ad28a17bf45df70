"""Convolutional networks as one chain of layers, cut in two at a named place.

The layers before the cut are the extractor, those behind it the classifier. An extractor that
convolves and pools within small windows can work on tiles: side by side, its maps of the tiles are
what it would make of the whole image, but for the tiles' edges. `mirror` derives from an extractor
the decoder that makes an image of its map.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import nn

from vfl_flower.errors import NetworkError, last_line
from vfl_flower.nets import Shape, image_of, imported
from vfl_flower.randomness import Dropout

HIDDEN = 4096  # width of the classifier's two hidden layers
POOLS = (nn.MaxPool2d, nn.AvgPool2d)
POINTWISE = (nn.ReLU, nn.LeakyReLU, nn.GELU, nn.SiLU, nn.ELU, nn.Tanh, nn.Sigmoid)
SILENT = (nn.Identity, nn.Dropout, nn.Dropout2d, Dropout)
"""Layers that a mirror leaves out."""


@dataclass(frozen=True)
class Chain:
    """A whole network and where it may be cut.

    Attributes
    ----------
    shape : tuple of int
        Of the images that it is for.
    layers : nn.Sequential
        From an image, (B, channels, height, width), to logits, (B, C).
    cuts : mapping of str to int
        How many layers the extractor has, by the name of the cut.
    own_randomness : bool
        Whether it draws on no global randomness.
    """

    shape: Shape
    layers: nn.Sequential
    cuts: Mapping[str, int]
    own_randomness: bool = True

    def halves(self, cut: str) -> tuple[nn.Sequential, nn.Sequential]:
        """Return extractor and classifier.

        Raises
        ------
        NetworkError
            If it has no such cut.
        """
        if cut not in self.cuts:
            raise NetworkError(
                f"the network has no cut '{cut}' for images of {written(self.shape)}, of which its "
                f"poolings must leave something; cuts are {', '.join(self.cuts)}"
            )
        layers, at = [*self.layers], self.cuts[cut]
        return nn.Sequential(*layers[:at]), nn.Sequential(*layers[at:])


def vgg16_bn(shape: Shape, classes: int, width: float) -> Chain:
    """Build VGG-16 with batch normalisation; its cuts are ``1C``, ``2C``, ``2C+1M`` and so on.

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
    from vfl_flower.data.torchvision_import import models

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
    """Yield the layers but for poolings of a map whose shorter side is one pixel."""
    for layer in features:
        if isinstance(layer, nn.MaxPool2d):
            if side < 2:
                continue
            side //= 2
        yield layer


def _named(layers: Sequence[nn.Module]) -> dict[str, int]:
    """Name the cut behind each block of convolution, normalisation and ReLU, and each pooling."""
    blocks = list(accumulate(isinstance(layer, nn.ReLU) for layer in layers))
    pools = list(accumulate(isinstance(layer, nn.MaxPool2d) for layer in layers))
    ends = [n for n, layer in enumerate(layers) if isinstance(layer, nn.ReLU | nn.MaxPool2d)]
    return {f"{blocks[n]}C" + (f"+{pools[n]}M" if pools[n] else ""): n + 1 for n in ends}


def _own(name: str, shape: Shape, classes: int) -> Chain:
    """Build a user's own: a class that takes shape and classes, with `layers` and `cuts`."""
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
    """Build a network by name: ``vgg16_bn``, or a user's ``package.module:Class``.

    Raises
    ------
    NetworkError
        If it cannot be built.
    """
    return _own(name, shape, classes) if ":" in name else vgg16_bn(shape, classes, width)


def padded(extractor: nn.Sequential, padding: str) -> nn.Sequential:
    """Let the convolutions of an extractor pad by the nearest pixels, unless they pad otherwise."""
    for layer in extractor.modules():
        if isinstance(layer, nn.Conv2d) and layer.padding_mode == "zeros":
            layer.padding_mode = padding  # type: ignore[assignment]  # any of torch's
    return extractor


def shapes_through(layers: nn.Sequential, shape: Shape) -> list[Shape]:
    """Return the shape of a row before each layer, and behind the last.

    Raises
    ------
    NetworkError
        If the layers cannot take it.
    """
    x, shapes = torch.zeros(2, *shape), [shape]
    training = layers.training
    try:
        with torch.no_grad():
            layers.eval()
            for layer in layers:
                x = layer(x)
                shapes.append(tuple(x.shape[1:]))
    except Exception as error:  # whatever a user's layer raises
        raise NetworkError(f"the network cannot take {written(shape)}", last_line(error)) from error
    finally:
        layers.train(training)
    return shapes


def mirror(extractor: nn.Sequential, shape: Shape) -> nn.Sequential:
    """Derive the decoder of an extractor: its layers the other way round and backward.

    A block of convolution, normalisation and activation becomes one of transposed convolution,
    normalisation and activation, but for the last, which is linear: pixels may be negative.
    Poolings become upsamplings to the size that was pooled.

    Parameters
    ----------
    extractor : nn.Sequential
        Of convolutions, batch normalisations, activations and poolings, nested or not.
    shape : tuple of int
        Of an image.

    Returns
    -------
    nn.Sequential
        From maps to images.

    Raises
    ------
    NetworkError
        If a layer has no mirror, or none is a convolution.
    """
    layers = list(_flat(extractor))
    sizes = [size[1:] for size in shapes_through(nn.Sequential(*layers), shape)]
    if not any(isinstance(layer, nn.Conv2d) for layer in layers):
        raise NetworkError("there is no convolution before the cut; cut the network behind one")
    first = [isinstance(layer, nn.Conv2d) for layer in layers].index(True)
    made: list[nn.Module] = []
    block: list[nn.Module] = []  # what normalises and activates in the block in hand
    for n, layer in reversed([*enumerate(layers)]):
        if isinstance(layer, nn.Conv2d):
            made.append(_transposed(layer, sizes[n], sizes[n + 1]))
            made += _like(block, layer.in_channels) if n > first else []
            block = []
        elif isinstance(layer, POOLS):
            made.append(nn.Upsample(size=sizes[n]))
        elif isinstance(layer, (nn.BatchNorm2d, *POINTWISE)):
            block.insert(0, layer)
        elif not isinstance(layer, SILENT):
            raise NetworkError(
                f"there is no mirror of {type(layer).__name__}; cut the network before it"
            )
    return nn.Sequential(*made)


def written(shape: Shape) -> str:
    """Return a shape as text."""
    return " x ".join(map(str, shape))


def _flat(layers: nn.Sequential) -> Iterator[nn.Module]:
    for layer in layers:
        if type(layer) is nn.Sequential:  # and no kind of it, which may do something else
            yield from _flat(layer)
        else:
            yield layer


def _like(block: Sequence[nn.Module], channels: int) -> list[nn.Module]:
    """Return a block's normalisation, for so many channels, and its activation."""
    return [
        nn.BatchNorm2d(channels) if isinstance(layer, nn.BatchNorm2d) else deepcopy(layer)
        for layer in block
    ]


def _transposed(layer: nn.Conv2d, before: Shape, after: Shape) -> nn.ConvTranspose2d:
    """Return the transposed convolution that makes maps of the size before of those after it."""
    if isinstance(layer.padding, str):
        raise NetworkError(f"a convolution's padding is '{layer.padding}'; give it in pixels")
    made = nn.ConvTranspose2d(
        layer.out_channels,
        layer.in_channels,
        layer.kernel_size,  # type: ignore[arg-type]  # pairs
        layer.stride,  # type: ignore[arg-type]
        layer.padding,  # type: ignore[arg-type]
        groups=layer.groups,
        dilation=layer.dilation,  # type: ignore[arg-type]
    )
    reached = made(torch.zeros(1, layer.out_channels, *after)).shape[2:]
    made.output_padding = tuple(b - r for b, r in zip(before, reached, strict=True))
    return made
