"""Networks as chains of layers that can be split."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import nn

from vfl_flower.common.errors import NetworkError, last_line, sizes
from vfl_flower.learning.networks.base import Shape, trying


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
                f"the network has no cut '{cut}' for images of {sizes(self.shape)}, of which its "
                f"poolings must leave something; cuts are {', '.join(self.cuts)}"
            )
        layers, at = [*self.layers], self.cuts[cut]
        return nn.Sequential(*layers[:at]), nn.Sequential(*layers[at:])


def shapes_through(layers: nn.Sequential, shape: Shape) -> list[Shape]:
    """Return a row's shape before each layer and at the end.

    Raises
    ------
    NetworkError
        If the layers cannot take it.
    """
    x, shapes = torch.zeros(2, *shape), [shape]
    try:
        with trying(layers):
            for layer in layers:
                x = layer(x)
                shapes.append(tuple(x.shape[1:]))
    except Exception as error:  # whatever a user's layer raises
        raise NetworkError(f"the network cannot take {sizes(shape)}", last_line(error)) from error
    return shapes
