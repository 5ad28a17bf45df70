"""New tables to be predicted, and files with predictions."""

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.helpers.own_data.own import ROWS, header, held, write
from vfl_flower.config.registry import specs

OF_IMAGES = {name for name, method in specs().items() if method.options().uploads_before_training}


Rows = NDArray[np.int64]


Finished = Callable[..., Path]


def new_tables(folder: Path, *rows: Rows) -> str:
    """Write three tables without labels, of rows that each party has."""
    folder.mkdir(exist_ok=True)
    components = [write(folder, k, held(k, each), header(k)) for k, each in enumerate(rows)]
    return ",".join(map(str, components))


def some(seed: int, count: int = 60) -> Rows:
    return np.random.default_rng(seed).permutation(ROWS)[:count]


def read(path: Path) -> tuple[list[str], list[list[str]]]:
    with path.open(newline="") as file:
        head, *lines = csv.reader(file)
    return head, lines
