"""Predictions as a table: a row of the file for each row of the data."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from torch import Tensor

from vfl_flower.codec import Array
from vfl_flower.errors import ConfigError
from vfl_flower.state import write_atomically

TOGETHER = 4096  # rows that are turned into text at once, which takes 128 bytes a number


def check_path(path: Path) -> None:
    """Refuse a file that is not CSV, before any work is done for it.

    Raises
    ------
    ConfigError
        Says so.
    """
    if path.suffix.lower() != ".csv":
        raise ConfigError(f"predictions are written as CSV; {path} must end in .csv")


def write_table(path: Path, rows: Array, logits: Tensor, classes: Sequence[str]) -> None:
    """Write what is predicted for some rows; the file is whole, or it is not there.

    Parameters
    ----------
    path : Path
        A file that is there is replaced. Its owner alone may read it.
    rows : ndarray of int32
        Their numbers, (N,), the column ``row``.
    logits : Tensor
        (N, C). The largest is the column ``prediction``, the name of a class; their softmax the
        columns ``probability of <class>``, float32.
    classes : sequence of str
        C of them.

    Raises
    ------
    RunError
        If it cannot be written.
    """
    text, names = io.StringIO(), np.array(classes)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["row", "prediction", *(f"probability of {name}" for name in classes)])
    for start in range(0, len(rows), TOGETHER):
        those, part = rows[start : start + TOGETHER], logits[start : start + TOGETHER]
        shares = part.softmax(1).numpy().astype(str)  # as few digits as tell float32 apart
        writer.writerows(np.column_stack([those.astype(str), names[part.argmax(1)], shares]))
    write_atomically(path, text.getvalue().encode())
