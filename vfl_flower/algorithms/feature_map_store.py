"""Store of received feature maps until the classifier is trained."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import RunError, TrainingError
from vfl_flower.common.files import make_private
from vfl_flower.common.state import State

MAPS = "feature-maps.dat"
NOTHING = -1  # in the place of the sum of a map that has not come


class Maps:
    """Feature maps of rows in several views, in a mapped file.

    The file lies in the active party's folder, if it has one.

    The file is mapped into memory, so that the operating system keeps as much of it there as fits.
    It takes c * H * W numbers of disk for each row of each view, which are reserved at once.

    Parameters
    ----------
    folder : Path or None
        Where the file lies; without one, all is in memory.
    views : sequence of ndarray
        The rows of each view, int32.
    rows : int
        N: rows are numbered below it.
    shape : tuple of int
        Of one joined map, (c, H, W).
    dtype : str
        ``float32`` or ``float16``.
    """

    def __init__(
        self,
        folder: Path | None,
        views: Sequence[Array],
        rows: int,
        shape: tuple[int, ...],
        dtype: str,
    ) -> None:
        self.path = folder and folder / MAPS
        self.slots = torch.full((len(views), rows), -1)  # where a row's map is, in each view
        count = 0
        for slots, those in zip(self.slots, views, strict=True):
            slots[torch.from_numpy(those)] = torch.arange(count, count + len(those))
            count += len(those)
        self.shape, self.dtype = (count, *shape), np.dtype(dtype)
        self.sums = torch.full((count,), NOTHING)
        self._array: Array | None = None

    def lacking(self, rows: Array) -> Array:
        """Return the rows, (B,), whose view 0 has not arrived."""
        slots = self.slots[0, torch.from_numpy(rows)]
        lacking: Array = rows[((slots < 0) | (self.sums[slots] == NOTHING)).numpy()]
        return lacking

    def put(self, view: int, rows: Tensor, maps: Tensor) -> None:
        """Store maps of some rows in one view.

        (B, c, H, W) float32.

        Raises
        ------
        RunError
            If the disk is full.
        TrainingError
            If a number is too large for float16.
        """
        with np.errstate(over="ignore"):
            kept = maps.numpy().astype(self.dtype, copy=False)
        if not np.isfinite(kept).all():
            raise TrainingError(
                f"feature maps are too large for {self.dtype}; use compression = none"
            )
        slots = self.slots[view, rows]
        self._opened()[slots.numpy()] = kept
        if isinstance(self._array, np.memmap):
            self._array.flush()
        self.sums[slots] = _sums(kept)

    def take(self, views: Tensor, rows: Tensor) -> Tensor:
        """Return maps of some rows, each in its view.

        (B,), (B,) -> (B, c, H, W) float32.

        Raises
        ------
        RunError
            If the file does not hold what was put there.
        """
        slots = self.slots[views, rows]
        taken = self._opened()[slots.numpy()]
        if not _sums(taken).equal(self.sums[slots]):
            raise self._damaged()
        return torch.from_numpy(taken.astype(np.float32, copy=False))

    def forget(self) -> None:
        """Have nothing, as far as the next checkpoint knows."""
        self.sums.fill_(NOTHING)

    def delete(self) -> None:
        """Forget all maps, and remove the file."""
        self.forget()
        self._array = None
        if self.path:
            self.path.unlink(missing_ok=True)

    def _opened(self) -> Array:
        """Return the array, of its file if there is one."""
        if self._array is None and self.path:
            self._array = _mapped(self.path, self.dtype, self.shape)
        elif self._array is None:
            self._array = np.zeros(self.shape, self.dtype)
        return self._array

    def _damaged(self) -> RunError:
        return RunError(f"{self.path} is missing or damaged; put it back, or start a new run")

    def state_dict(self) -> State:
        """Return the maps' arrival flags and checksums.

        The maps themselves are in the file already.
        """
        return {"sums": self.sums}

    def load_state_dict(self, state: State) -> None:
        """Restore the state of `state_dict`.

        Raises
        ------
        RunError
            If maps have come, and the file is gone or of another length.
        """
        self._array, self.sums = None, state["sums"]
        size = int(np.prod(self.shape)) * self.dtype.itemsize
        if (self.sums != NOTHING).any() and not _is_long(self.path, size):
            raise self._damaged()


def _is_long(path: Path | None, size: int) -> bool:
    return path is not None and path.is_file() and path.stat().st_size == size


def _sums(maps: Array) -> Tensor:
    """Checksum each map: (B, ...) -> (B,) int64."""
    words = maps.reshape(len(maps), -1).view(f"u{maps.itemsize}")
    return torch.from_numpy(words.sum(1, dtype=np.int64))


def _mapped(path: Path, dtype: "np.dtype[np.generic]", shape: tuple[int, ...]) -> Array:
    """Map a private file to memory, made if it does not exist."""
    try:
        make_private(path.parent)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        with os.fdopen(handle, "r+b") as file:
            size = int(np.prod(shape)) * dtype.itemsize
            file.truncate(size)
            if hasattr(os, "posix_fallocate"):  # then a full disk shows now, and not in mid-write
                os.posix_fallocate(file.fileno(), 0, size)
            return np.memmap(file, dtype, "r+", shape=shape)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error}") from error
