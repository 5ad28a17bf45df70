"""Where the active party keeps feature maps of whole images until its classifier has learnt."""

import os
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from vfl_flower.codec import Array
from vfl_flower.errors import RunError, TrainingError
from vfl_flower.state import State

MAPS = "feature-maps.dat"


class Maps:
    """Feature maps of every row in every view, in a file of the active party where it has a folder.

    The file is mapped into memory, so that the operating system keeps as much of it there as fits.
    It takes ``views * N * c * H * W`` numbers of disk, which are reserved at once.

    Parameters
    ----------
    folder : Path or None
        Where the file lies; without one, all is in memory.
    views, rows : int
        How many.
    shape : tuple of int
        Of one joined map, (c, H, W).
    dtype : str
        ``float32`` or ``float16``.
    """

    def __init__(
        self,
        folder: Path | None,
        views: int,
        rows: int,
        shape: tuple[int, ...],
        dtype: str,
    ) -> None:
        self.path = folder and folder / MAPS
        self.shape, self.dtype = (views, rows, *shape), np.dtype(dtype)
        self.there = torch.zeros(views, rows, dtype=torch.bool)
        self._array: Array | None = None

    def lacking(self, rows: Array) -> Array:
        """Return those of some rows, (B,), that have not come as they are, in view 0."""
        lacking: Array = rows[~self.there[0, torch.from_numpy(rows)].numpy()]
        return lacking

    def put(self, view: int, rows: Tensor, maps: Tensor) -> None:
        """Keep maps of some rows in one view: (B, c, H, W) float32.

        Raises
        ------
        RunError
            If the disk is full.
        TrainingError
            If a number is not finite, or too large for float16.
        """
        with np.errstate(over="ignore"):
            kept = maps.numpy().astype(self.dtype, copy=False)
        if not np.isfinite(kept).all():
            raise TrainingError(
                f"feature maps hold numbers that are not finite as {self.dtype}; lower "
                "extractor-rate or the learning rates, or send them without compression"
            )
        self._opened()[view, rows.numpy()] = kept
        self._flush()
        self.there[view, rows] = True

    def take(self, views: Tensor, rows: Tensor) -> Tensor:
        """Return maps of some rows, each in a view: (B,), (B,) -> (B, c, H, W) float32.

        Raises
        ------
        RunError
            If they are not there: the file is gone since they came.
        """
        if not self.there[views, rows].all():
            raise RunError(f"{self.path} is missing or damaged; put it back, or start a new run")
        taken = self._opened()[views.numpy(), rows.numpy()]
        return torch.from_numpy(taken.astype(np.float32, copy=False))

    def delete(self) -> None:
        """Forget all maps."""
        self._array = None
        self.there.zero_()
        if self.path:
            self.path.unlink(missing_ok=True)

    def _opened(self) -> Array:
        """Return the array, of its file if there is one."""
        if self._array is None and self.path is None:
            self._array = np.zeros(self.shape, self.dtype)
        if self._array is None and self.path:
            self._array = _mapped(self.path, self.dtype, self.shape)
        assert self._array is not None  # noqa: S101  one of the two
        return self._array

    def _flush(self) -> None:
        if isinstance(self._array, np.memmap):
            self._array.flush()

    def state_dict(self) -> State:
        """Return which maps have come; they themselves are in the file already."""
        return {"there": self.there}

    def load_state_dict(self, state: State) -> None:
        """Take back what `state_dict` gave; without the file, nothing has come."""
        self._array = None
        size = int(np.prod(self.shape)) * self.dtype.itemsize
        kept = self.path and self.path.is_file() and self.path.stat().st_size == size
        self.there = state["there"] & bool(kept)


def _mapped(path: Path, dtype: "np.dtype[np.generic]", shape: tuple[int, ...]) -> Array:
    """Map a file that its owner alone may read; make it where there is none."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        with os.fdopen(handle, "r+b") as file:
            size = int(np.prod(shape)) * dtype.itemsize
            os.posix_fallocate(file.fileno(), 0, size)  # a full disk shows now, not in mid-write
            return np.memmap(file, dtype, "r+", shape=shape)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error}") from error
