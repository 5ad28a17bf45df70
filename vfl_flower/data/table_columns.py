"""Encoded columns of the parties' own tables."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vfl_flower.common.errors import DataError, sizes
from vfl_flower.common.names import party_name
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.preprocessing.encoder import Encoder
from vfl_flower.data.tables.description import described
from vfl_flower.data.tables.reader import OwnTable


def encoded_columns(
    cfg: RunConfig, rank: int, features: NDArray[np.float32], table: OwnTable, encoder: Encoder
) -> Tensor:
    """Encode the rows of the run: (n, columns) -> (n, ...) float32."""
    if cfg.active_columns == "none" and rank == 0:
        return torch.empty(len(features), 0)
    made = encoder.apply(features, table.columns, gaps=cfg.spec.keeps_gaps)
    encoded = torch.from_numpy(made)
    return _shaped(encoded, described(cfg, rank).shape, party_name(rank))


def joined(parties: Sequence[Tensor]) -> Tensor:
    """Put parties' columns, or images of one height, side by side."""
    if len({each.shape[1:3] for each in parties}) == 1 and parties[0].ndim == 4:
        return torch.cat([*parties], dim=3)
    return torch.cat([each.flatten(1) for each in parties], dim=1)


def _shaped(encoded: Tensor, shape: tuple[int, ...], party: str) -> Tensor:
    """Return rows of pixels as images: (n, m) -> (n, *shape)."""
    if not shape:
        return encoded
    if encoded.shape[1] != math.prod(shape):
        raise DataError(
            f"{party}: its table makes {encoded.shape[1]} columns, and images of shape "
            f"{sizes(shape)} have {math.prod(shape)} pixels; each pixel is a column of numbers"
        )
    return encoded.reshape(-1, *shape)
