"""Arrays of one party, aligned with those of all others."""

from typing import Any

import numpy as np

from vfl_flower.common.errors import DataError, sizes
from vfl_flower.config.catalog import BINARY, MULTI_CLASS, REGRESSION
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
        width); NaN is a gap. Columns, or pixels, are scaled by the training rows.
    y : array or Tensor, optional
        (N,), of the active party only: whole numbers, booleans and texts are classes, other
        numbers are a regression's.

    Raises
    ------
    DataError
        If they are no such arrays, or of different lengths.
    """

    def __init__(self, x: Any, y: Any = None) -> None:  # noqa: ANN401
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
        return Table(columns, id=_ID, label=_LABEL, columns=uses, task=_task(self.y), shape=shape)

    def __repr__(self) -> str:
        return f"Arrays({len(self)} rows, {sizes(self.x.shape[1:])}, {_labelled(self.y)})"


def _array(given: Any, name: str) -> Any:  # noqa: ANN401
    """Copy an array, or a tensor from whatever device."""
    tensor = given.detach().cpu().numpy() if hasattr(given, "detach") else given
    try:
        return np.array(tensor)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} is no array", str(error)) from error


def _task(y: Any) -> str:  # noqa: ANN401
    """Return the task that the type of labels sets."""
    if y.dtype.kind == "f":
        return REGRESSION
    return BINARY if len(np.unique(y)) == 2 else MULTI_CLASS


def _labels(y: Any) -> Any:  # noqa: ANN401
    """Write labels that are no numbers as text."""
    return y if y.dtype.kind in "biuf" else y.astype(str)


def _labelled(y: Any) -> str:  # noqa: ANN401
    return "no labels" if y is None else "with labels"
