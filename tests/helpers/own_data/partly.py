"""Made tables of four parties, of which three lack rows."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer

from tests.helpers.own_data.own import write

PARTIES, ROWS, SHARE = 4, 300, 6
BUNCH = load_breast_cancer()


def presence(seed: int = 7) -> NDArray[np.bool_]:
    """Return which passive party has which row, (ROWS, K)."""
    return np.random.default_rng(seed).random((ROWS, PARTIES - 1)) < 0.7


def make(folder: Path, here: NDArray[np.bool_] | None = None) -> str:
    """Write the tables, shuffled, and return their descriptions."""
    folder.mkdir(exist_ok=True)
    here = presence() if here is None else here
    random, paths = np.random.default_rng(3), []
    for rank in range(PARTIES):
        rows = np.flatnonzero(here[:, rank - 1]) if rank else np.arange(ROWS)
        columns = slice(rank * SHARE, (rank + 1) * SHARE)
        header = ["id", *(f"column {n}" for n in range(ROWS)[columns])]
        cells = [[f"id-{row:03d}", *BUNCH.data[row, columns]] for row in random.permutation(rows)]
        if not rank:
            header.append("outcome")
            for each in cells:
                each.append(BUNCH.target_names[BUNCH.target[int(each[0][3:])]])
        said = {} if rank else {"label": "outcome"}
        paths.append(write(folder, rank, cells, header, **said))
    return ",".join(map(str, paths))
