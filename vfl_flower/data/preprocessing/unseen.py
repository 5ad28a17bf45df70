"""Rows with categories that no training row had."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vfl_flower.common.names import party_log
from vfl_flower.data.columns import Column
from vfl_flower.data.preprocessing.encoder import Encoder
from vfl_flower.data.preprocessing.encoder_columns import Matrix


def unseen_rows(
    encoder: Encoder, features: Matrix, columns: Sequence[Column], rank: int
) -> dict[str, NDArray[np.bool_]]:
    """Mark rows, (N,), with a category unseen in training; log their number.

    See `Encoder.unseen`.
    """
    marked = encoder.unseen(features, columns)
    for name, rows in marked.items():
        party_log(rank).info(
            "column %s has a value that no training row had in %d of %d rows; it counts as none of "
            "the known ones",
            *(name, np.count_nonzero(rows), len(rows)),
        )
    return marked
