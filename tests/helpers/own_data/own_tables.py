"""Parts of own tables as text, and helpers for read tables."""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import settings
from numpy.typing import NDArray

from vfl_flower.data.preprocessing.encoder import Encoder
from vfl_flower.data.tables.reader import OwnTable

FEWER = settings(max_examples=60, deadline=None)
ROWS = 12
Read = Callable[..., OwnTable]


def lines(header: str, row: Callable[[int], str], rows: int = ROWS) -> str:
    return "\n".join([header, *map(row, range(rows))]) + "\n"


def uses(read: OwnTable) -> dict[str, str]:
    return {each.name: each.use for each in read.looked}


def fitted(read: OwnTable, train: NDArray[Any] | None = None) -> Encoder:
    rows = np.arange(len(read.ids)) if train is None else train
    return Encoder.fit(read.features, read.columns, rows, "party-3", read.ignored)


def unseen(encoder: Encoder, read: OwnTable) -> dict[str, int]:
    """Count rows with a category that no training row had, by column."""
    marked = encoder.unseen(read.features, read.columns)
    return {name: int(rows.sum()) for name, rows in marked.items()}
