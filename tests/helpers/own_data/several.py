"""Made tables of three parties whose rows have several labels."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.helpers.own_data.own import ROWS, TINY, X, header, held, write
from vfl_flower.config.run_config import RunConfig
from vfl_flower.workflows.align import align_here

LABELS = ["large", "late fee", "=odd"]
VALUES = [("0", "1"), ("no", "yes"), ("false", "true")]
COLUMNS = X[:, [0, 9, 17]]
TRUTH: NDArray[np.int64] = (np.median(COLUMNS, 0) < COLUMNS).astype(np.int64)
"""Of each label, one party's column decides, (ROWS, 3)."""


def labelled(rows: NDArray[np.int64]) -> list[list[object]]:
    """Return rows of the active party's file, with all labels."""
    words = [[VALUES[n][at] for n, at in enumerate(TRUTH[row])] for row in rows]
    return [[*row, *more] for row, more in zip(held(0, rows), words, strict=True)]


def tables_of(folder: Path, *rows: NDArray[np.int64]) -> str:
    """Write tables of three parties; return their descriptions."""
    folder.mkdir(exist_ok=True)
    paths = [write(folder, k, held(k, each), header(k)) for k, each in enumerate(rows)]
    said = "label = [" + ", ".join(f'"{name}"' for name in LABELS) + "]\n"
    write(folder, 0, labelled(rows[0]), header(0, *LABELS), more=said)
    return ",".join(map(str, paths))


def all_tables(folder: Path) -> str:
    """Write tables with shuffled, partly overlapping ids."""
    random = np.random.default_rng(7)
    return tables_of(folder, *(random.permutation(ROWS)[: ROWS - 20] for _ in range(3)))


def aligned(folder: Path, **options: Any) -> RunConfig:
    """Return the configuration of a run on aligned tables."""
    cfg = RunConfig(**TINY | {"tables": all_tables(folder / "tables")} | options)
    align_here(cfg, folder)
    return cfg.changed(alignment=str(folder))
