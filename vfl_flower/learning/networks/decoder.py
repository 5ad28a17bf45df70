"""Mirrored decoder of a convolutional extractor."""

from collections.abc import Iterator, Sequence
from copy import deepcopy

import torch
from torch import nn

from vfl_flower.common.errors import NetworkError
from vfl_flower.learning.dropout import Dropout
from vfl_flower.learning.networks.base import Shape
from vfl_flower.learning.networks.splittable import shapes_through

_POOLS = (nn.MaxPool2d, nn.AvgPool2d)
_POINTWISE = (nn.ReLU, nn.LeakyReLU, nn.GELU, nn.SiLU, nn.ELU, nn.Tanh, nn.Sigmoid)
_SILENT = (nn.Identity, nn.Dropout, nn.Dropout2d, Dropout)
"""Layers that a mirror leaves out."""


def mirror(extractor: nn.Sequential, shape: Shape) -> nn.Sequential:
    """Derive the decoder of an extractor: its layers mirrored, in reverse order.

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
        elif isinstance(layer, _POOLS):
            made.append(nn.Upsample(size=sizes[n]))
        elif isinstance(layer, (nn.BatchNorm2d, *_POINTWISE)):
            block.insert(0, layer)
        elif not isinstance(layer, _SILENT):
            raise NetworkError(
                f"there is no mirror of {type(layer).__name__}; cut the network before it"
            )
    return nn.Sequential(*made)


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
    """Return the transposed convolution that restores the size before a layer."""
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
