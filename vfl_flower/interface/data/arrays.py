"""Arrays of one party, aligned with those of all others."""

from typing import Any

import numpy as np

from vfl_flower.common.errors import DataError, sizes
from vfl_flower.interface.data.table import Table

_ID, _LABEL = "row", "y"


class Arrays:
    """Columns of one party as an array of numbers.

    Row n is of the same entity at all parties: no ids are needed. Predictions have the number of
    the row as ``id``, in order.

    Parameters
    ----------
    x : array or Tensor
        (N, m), or (N,) for one column, or images (N, height, width) or (N, channels, height,
        width); NaN, or masked, is a gap. Columns, or pixels, are scaled by the training rows.
    y : array or Tensor, optional
        (N,), of the active party only. As in tables, texts, booleans, whole numbers with up to
        20 values and any two values are classes; other numbers are a regression's.
    task : {"", "binary", "multi-class", "regression"}
        Kind of the labels; empty: by their values.

    Raises
    ------
    DataError
        If they are no such arrays, of different lengths, or a label is missing.
    """

    def __init__(self, x: Any, y: Any = None, *, task: str = "") -> None:  # noqa: ANN401
        self.x = _array(x, "x")
        if self.x.ndim in (1, 3):  # one column, one channel
            self.x = self.x[:, None]
        if self.x.ndim not in (2, 4) or self.x.dtype.kind not in "biuf" or not self.x.size:
            raise DataError(
                f"x has shape {self.x.shape} and type {self.x.dtype}; it must be numbers, a row of "
                "columns, or an image, for each entity"
            )
        self.y = None if y is None else _array(y, "y")
        if self.y is not None and self.y.shape != (len(self.x),):
            raise DataError(f"y has shape {self.y.shape}, and x has {len(self.x)} rows")
        if self.y is not None:
            _check_whole(self.y)
        self.task = task

    def __len__(self) -> int:
        return len(self.x)

    def table(self) -> Table:
        """Return them as a table with row numbers as ids."""
        columns_of = self.x.reshape(len(self.x), -1).T.astype(np.float32)
        names = [f"x{number}" for number in range(len(columns_of))]
        columns: dict[str, Any] = {_ID: np.arange(len(self.x))}
        columns |= dict(zip(names, columns_of, strict=True))
        uses = dict.fromkeys(names, "numeric")
        shape = self.x.shape[1:] if self.x.ndim == 4 else ()
        if self.y is None:
            return Table(columns, id=_ID, columns=uses, shape=shape)
        columns |= {_LABEL: _labels(self.y)}
        return Table(columns, id=_ID, label=_LABEL, columns=uses, task=self.task, shape=shape)

    def __repr__(self) -> str:
        return f"Arrays({len(self)} rows, {sizes(self.x.shape[1:])}, {_labelled(self.y)})"


def _array(given: Any, name: str) -> Any:  # noqa: ANN401
    """Copy an array or a tensor, with NaN where it is masked."""
    try:
        if np.ma.isMaskedArray(given) and given.mask.any():
            numbers = given.dtype.kind in "biuf"
            kind = np.result_type(given.dtype, np.float32) if numbers else object
            return np.ma.filled(given.astype(kind), np.nan)
        return np.array(_on_cpu(given) if hasattr(given, "detach") else given)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(f"{name} is no array", str(error)) from error


def _on_cpu(tensor: Any) -> Any:  # noqa: ANN401
    """Return a tensor as an array, of a type that NumPy has."""
    here = tensor.detach().cpu()
    return (here.float() if str(here.dtype) == "torch.bfloat16" else here).numpy()


def _check_whole(y: Any) -> None:  # noqa: ANN401
    """Refuse labels with gaps.

    Raises
    ------
    DataError
        Names the first row without a label.
    """
    # pandas is slow to import
    import pandas as pd

    gaps = np.flatnonzero(pd.isna(y))
    if gaps.size:
        raise DataError(
            f"y has no value in {gaps.size} rows, first in row {gaps[0]}; leave them out"
        )


def _labels(y: Any) -> Any:  # noqa: ANN401
    """Write labels that are no numbers as text."""
    return y if y.dtype.kind in "biuf" else y.astype(str)


def _labelled(y: Any) -> str:  # noqa: ANN401
    return "no labels" if y is None else "with labels"
