"""Preprocessing of columns: one-hot categories, imputed gaps, scaled numbers.

Everything is fitted on the party's own columns, in the training rows only; a table's, as `encoder`
says.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import DataError
from vfl_flower.data.columns import Column, Features
from vfl_flower.data.preprocessing.encoder import Encoder

Numbers = NDArray[np.float32]


def encoded(
    table: Features, columns: Sequence[Column], train: Array, party: str, *, gaps: bool = False
) -> Tensor:
    """Prepare a table's columns.

    Parameters
    ----------
    table : ndarray of float32
        (N, m); NaN is a gap.
    columns : sequence of Column
        What they are, m of them.
    train : ndarray
        The training rows.
    party : str
        Whose they are, for errors.
    gaps : bool
        Whether missing numbers and dates stay NaN.

    Returns
    -------
    Tensor
        (N, n) float32: first all numbers, then the categories, each in the order of the columns.

    Raises
    ------
    DataError
        If a column has nothing but gaps in the training rows, or NaN or infinity that are no gaps.
    """
    check_finite(table, party, columns)
    numbers = table.astype(np.float32, copy=False)
    encoder = Encoder.fit(numbers, columns, train, party)
    return torch.from_numpy(encoder.apply(numbers, columns, gaps=gaps))


def mean_and_deviation(features: Features, train: Array) -> tuple[Numbers, Numbers]:
    """Return those of the training rows.

    An image has one mean and one deviation per channel, (1, channels, 1, 1), a table one per
    column, (1, columns). The deviation of what does not vary is 1.
    """
    axes = (0, 2, 3) if features.ndim == 4 else (0,)
    sample = features[train]
    mean = sample.mean(axes, keepdims=True, dtype=np.float64).astype(np.float32)
    deviation = sample.std(axes, keepdims=True, dtype=np.float64).astype(np.float32)
    deviation[deviation == 0] = 1
    return mean, deviation


def scaled_by(features: Features, mean: Numbers, deviation: Numbers) -> Tensor:
    """Subtract a mean, and divide by a deviation."""
    result = features - mean
    result /= deviation  # in place: rows of images are gigabytes
    return torch.from_numpy(result)


def noised(x: Tensor, deviation: float, seed: int, place: int) -> Tensor:
    """Add Gaussian noise to a party's columns, drawn by seed and rank.

    It is of use in studies only, and protects nothing: everybody can compute it.
    """
    random = np.random.default_rng([seed, place, *x.shape])
    return x + deviation * torch.from_numpy(random.standard_normal(x.shape, np.float32))


def check_finite(features: Features, party: str, columns: Sequence[Column] = ()) -> None:
    """Refuse NaN and infinity, and name the column.

    Parameters
    ----------
    features : ndarray of float32
        (N, ...).
    party : str
        Whose they are.
    columns : sequence of Column, optional
        A table's, of which those with gaps may hold NaN.

    Raises
    ------
    DataError
        Names the party, the first bad column and how many there are.
    """
    bad = ~np.isfinite(features).all(axis=0)
    if columns:
        gaps = np.array([column.gaps for column in columns])
        bad &= np.isinf(features).any(axis=0) | ~gaps
    if bad.any():
        place = [int(i) for i in np.argwhere(bad)[0]]
        first = columns[place[0]].name if columns else ", ".join(map(str, place))
        where = f"pixel (channel, row, column) = ({first})" if bad.ndim == 3 else f"column {first}"
        others = f", as do {int(bad.sum()) - 1} others" if bad.sum() > 1 else ""
        raise DataError(f"{party}: {where} holds NaN or infinity{others}; clean or impute them")
