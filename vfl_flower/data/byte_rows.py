"""Rows of images: kept as bytes, standardised where they are used."""

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.data.columns import Features, Pixels
from vfl_flower.data.preprocessing.scaling import Numbers, mean_and_deviation

_ROWS = 1024
"""Rows that are counted at a time."""
_LARGEST = np.float32(255)


@dataclass(frozen=True, eq=False)
class ByteRows:
    """Columns of a party, of images as bytes.

    They take a quarter of the memory of float32. It is indexed as the tensor of all rows would be,
    and makes those that are asked for.

    Attributes
    ----------
    pixels : Tensor
        (N, channels, height, width) uint8; it can be a view of all parties' columns.
    mean, deviation : Tensor
        What they are scaled by, float32 of a shape like (1, channels, 1, 1), of pixels from 0 to 1.
    """

    pixels: Tensor
    mean: Tensor
    deviation: Tensor

    @classmethod
    def scaled(cls, pixels: Pixels, mean: Numbers, deviation: Numbers) -> "ByteRows":
        """Scale pixels by numbers of a shape like (1, channels, 1, 1)."""
        return cls(*map(torch.from_numpy, (pixels, mean, deviation)))

    @property
    def shape(self) -> torch.Size:
        """(N, channels, height, width)."""
        return self.pixels.shape

    @property
    def ndim(self) -> int:
        """Four."""
        return self.pixels.ndim

    @property
    def device(self) -> torch.device:
        """Where its rows are made."""
        return self.pixels.device

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, rows: int | slice | Tensor | Array) -> Tensor:
        if isinstance(rows, int):
            return self[rows : rows + 1][0]
        return self._made(self.pixels[rows])

    def index_select(self, dim: int, rows: Tensor) -> Tensor:
        """Return some rows as `torch.index_select` does: (B, ...) float32."""
        return self._made(self.pixels.index_select(dim, rows))

    def to(self, device: torch.device) -> "ByteRows":
        """Return the rows on a device."""
        moved = {name: getattr(self, name).to(device) for name in ("pixels", "mean", "deviation")}
        return replace(self, **moved)

    def _made(self, pixels: Tensor) -> Tensor:
        return pixels.float().div_(float(_LARGEST)).sub_(self.mean).div_(self.deviation)


Held = Tensor | ByteRows
"""Columns of one party, (N, ...)."""


def unit(features: Features) -> NDArray[np.float32]:
    """Return bytes as numbers from 0 to 1, and numbers themselves."""
    if features.dtype != np.uint8:
        return features.astype(np.float32, copy=False)
    scaled: NDArray[np.float32] = features.astype(np.float32) / _LARGEST
    return scaled


def scale_of(features: Features, train: Array) -> tuple[Numbers, Numbers]:
    """Return mean and deviation in the training rows.

    See `mean_and_deviation`; of bytes of images they are those of numbers from 0 to 1.
    """
    if features.dtype != np.uint8:
        return mean_and_deviation(features, train)
    pixels = cast("Pixels", features)
    known = [_moments(pixels[:, channel], train) for channel in range(pixels.shape[1])]
    mean, deviation = np.array(known, np.float32).T.reshape(2, 1, -1, 1, 1)
    return mean, deviation


def _moments(pixels: Pixels, train: Array) -> tuple[float, float]:
    """Return mean and deviation of a channel's bytes, from 0 to 1.

    A channel that does not vary has deviation 1.
    """
    counts = np.zeros(256, np.int64)
    for part in np.array_split(train, max(len(train) // _ROWS, 1)):
        counts += np.bincount(pixels[part].ravel(), minlength=256)
    values = unit(np.arange(256, dtype=np.uint8)).astype(np.float64)
    mean = counts @ values / counts.sum()
    variance = counts @ np.square(values - mean) / counts.sum()
    deviation = np.float32(np.sqrt(variance))
    return float(np.float32(mean)), float(deviation) or 1.0
