"""Weights of rows, in proportion to the mean of the training rows."""

from collections.abc import Mapping
from math import ceil

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ConfigError, DataError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.validation.training import check_weights

_ROUNDING = 1e-6


def in_proportion(given: NDArray[np.float64], rows: Mapping[str, Array], cfg: RunConfig) -> Tensor:
    """Scale weights so that training rows have a mean of 1.

    Parameters
    ----------
    given : ndarray of float64
        (N,), finite and not negative.
    rows : dict of str to ndarray
        The split of the rows.
    cfg : RunConfig
        Bounds the weights, by ``largest-weight``.

    Returns
    -------
    Tensor
        (N,), float32.

    Raises
    ------
    ConfigError
        If rows cannot have weights in this run, or a training row weighs more than it says.
    DataError
        If all training, validation or test rows weigh nothing.
    """
    check_weights(cfg, weighted=True)
    weights = torch.from_numpy(given)
    parts = {name: weights[torch.from_numpy(each)] for name, each in rows.items()}
    for name, part in parts.items():
        if len(part) and not part.any():
            raise DataError(f"active: all {name} rows have a weight of 0; take another seed")
    scaled = (weights / parts["train"].mean()).float()
    largest = float(scaled[torch.from_numpy(rows["train"])].amax())
    if largest > cfg.largest_weight * (1 + _ROUNDING):
        raise ConfigError(
            f"active: a training row weighs {largest:.4g} times the mean, and largest-weight is "
            f"{cfg.largest_weight:g}; set it to {ceil(100 * largest) / 100:g} or more, which all "
            "parties are told, or use smaller weights"
        )
    return scaled
