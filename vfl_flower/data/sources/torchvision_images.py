"""Image data sets of torchvision."""

import contextlib
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfl_flower.common.errors import AbsentDataError, DataError, last_line
from vfl_flower.common.optional.extras import require
from vfl_flower.data.columns import Labels, Pixels
from vfl_flower.data.datasets import DataSet, of_parts

_DAMAGED = (
    *(RuntimeError, ValueError, AssertionError, EOFError, LookupError, OSError),
    *(TypeError, AttributeError, OverflowError, MemoryError, struct.error),
)
"""What is raised for files that cannot be read, by torchvision too."""

_BYTES = 0x800
"""First number of an idx file of bytes, but for its dimensions."""


@dataclass(frozen=True)
class Published:
    """A data set as torchvision keeps it.

    Attributes
    ----------
    kind : str
        Torchvision's class.
    files : tuple of str
        What must lie in the data folder.
    rows : tuple of int
        How many rows the training and the test part have.
    """

    kind: str
    files: tuple[str, ...]
    rows: tuple[int, int]

    @property
    def place(self) -> str:
        """The folder of the files."""
        return str(Path(self.files[0]).parent)

    def parts(self, folder: Path, download: bool) -> list[tuple[Pixels, Labels]]:
        """Load the training and test parts: local files first, then a download.

        Raises
        ------
        AbsentDataError
            If the files are missing and cannot be fetched.
        DataError
            If they are damaged.
        """
        try:
            folder = folder.resolve()
            if not all((folder / file).exists() for file in self.files):
                self._fetch(folder, download)
            parts = [self._part(folder, train) for train in (True, False)]
            for (pixels, labels), rows in zip(parts, self.rows, strict=True):
                if (len(pixels), len(labels)) != (rows, rows):
                    raise ValueError(
                        f"{len(pixels)} images and {len(labels)} labels stand where {rows} are "
                        "published"
                    )
        except _DAMAGED as error:
            raise DataError(
                f"{self.kind} in {folder / self.place} is damaged or not whole; delete that folder "
                "and get the data set again",
                last_line(error),
            ) from error
        return parts

    def _part(self, folder: Path, train: bool) -> tuple[Pixels, Labels]:
        """Read the training or the test part."""
        part = self._torchvision()(folder, train=train, download=False)
        return _pixels(part.data), np.asarray(part.targets).astype(np.int64)

    def _torchvision(self) -> Any:  # noqa: ANN401
        """Import torchvision's class."""
        require("torchvision", self.kind)
        # torchvision is slow to import
        from vfl_flower.common.optional.torchvision_import import datasets

        return getattr(datasets, self.kind)

    def _fetch(self, folder: Path, allowed: bool) -> None:
        """Download missing files."""
        place = f"{self.kind} is not in {folder} (torchvision's layout: {self.place}/...)"
        if not allowed:
            raise AbsentDataError(f"{place}; set data-dir, or allow download")
        kind = self._torchvision()
        made = [path for path in (folder, *_above(folder, self.place)) if not path.exists()]
        try:
            kind(folder, download=True)
        except (RuntimeError, OSError) as error:
            with contextlib.suppress(OSError):  # empty folders only, and only those made just now
                for path in reversed(made):
                    path.rmdir()
            reason = " ".join(str(error).split())
            text = f"{place} and cannot be downloaded: {reason}; set data-dir"
            raise AbsentDataError(text) from error


@dataclass(frozen=True)
class IdxFiles(Published):
    """A data set in idx files, as MNIST is published.

    They are read here: torchvision would import torch's compiler, which costs a process 80 MiB and
    a second.
    """

    def _part(self, folder: Path, train: bool) -> tuple[Pixels, Labels]:
        """Read the training or the test part."""
        images, labels = (folder / file for file in (self.files[:2] if train else self.files[2:]))
        return _pixels(_idx(images, 3)), _idx(labels, 1).astype(np.int64)


def _idx(path: Path, dimensions: int) -> NDArray[np.uint8]:
    """Read an idx file of bytes.

    Raises
    ------
    ValueError, struct.error
        If it is of another kind, or its length is not what it says.
    """
    with path.open("rb") as file:
        kind, *shape = struct.unpack(f">{1 + dimensions}I", file.read(4 * (1 + dimensions)))
        if kind != _BYTES + dimensions:
            raise ValueError(f"{path.name} is no idx file of bytes in {dimensions} dimensions")
        return np.fromfile(file, np.uint8).reshape(shape)


def _above(folder: Path, place: str) -> list[Path]:
    parts = Path(place).parts
    return [folder.joinpath(*parts[: n + 1]) for n in range(len(parts))]


def _pixels(data: Any) -> Pixels:  # noqa: ANN401
    """Return images with their channels first."""
    array = np.asarray(data)
    return array[:, None] if array.ndim == 3 else array.transpose(0, 3, 1, 2)


def _idx_files(folder: str) -> tuple[str, ...]:
    names = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
    return tuple(f"{folder}/raw/{name}-ubyte" for name in names)


def _batches(folder: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{folder}/{name}" for name in names)


def _data_set(classes: int, source: Published) -> DataSet:
    return of_parts(classes, source.rows[1], source.parts)


_FIVE = [f"data_batch_{n}" for n in range(1, 6)]
MNIST = _data_set(10, IdxFiles("MNIST", _idx_files("MNIST"), (60_000, 10_000)))
FASHION_MNIST = _data_set(
    10, IdxFiles("FashionMNIST", _idx_files("FashionMNIST"), (60_000, 10_000))
)
CIFAR10 = _data_set(
    10,
    Published(
        "CIFAR10",
        _batches("cifar-10-batches-py", *_FIVE, "test_batch", "batches.meta"),
        (50_000, 10_000),
    ),
)
CIFAR100 = _data_set(
    100,
    Published("CIFAR100", _batches("cifar-100-python", "train", "test", "meta"), (50_000, 10_000)),
)
