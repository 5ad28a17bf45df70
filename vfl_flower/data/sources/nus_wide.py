"""NUS-WIDE: features of pictures, and the tags that people gave them."""

from itertools import compress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vfl_flower.common.errors import AbsentDataError, DataError, last_line
from vfl_flower.data.datasets import of_whole

PUBLISHED = "https://lms.comp.nus.edu.sg/wp-content/uploads/2019/research/nuswide/NUS-WIDE.html"
BLOCKS = {"CH": 64, "CM55": 225, "CORR": 144, "EDH": 73, "WT": 128}
"""Features of the pictures, and how many columns each kind has: 634 in all."""

TAGS = 1000
_CONCEPTS = 5
PARTS = ("Train", "Test")

_Bits = NDArray[np.bool_]


class NusWide:
    """The pictures that show exactly one of the five most frequent concepts.

    A row has 634 features of the picture, in the order of `BLOCKS`, and 1000 tags, 0 or 1. The
    classes are the five concepts by the number of pictures that show them, the most frequent first.

    Attributes
    ----------
    rows : tuple of int
        How many training and test rows are taken, evenly spaced over those that there are.
    """

    rows = (60_000, 10_000)

    def load(
        self, folder: Path, download: bool = False
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return features (N, 1634) and labels (N,), the test rows last.

        Only the rows that are taken are read into memory, 460 MB of them.

        Raises
        ------
        AbsentDataError
            If a file is missing.
        DataError
            If one is damaged, or there are too few test rows.
        """
        root = folder.resolve() / "NUS-WIDE"
        shown = [_shown(root, part) for part in PARTS]
        names = _most_frequent(root, *shown)
        tables = [np.stack([concepts[name] for name in names], 1) for concepts in shown]
        pairs = zip(tables, self.rows, strict=True)
        taken = [_taken(table.sum(1) == 1, most) for table, most in pairs]
        if (count := taken[1].sum()) < self.rows[1]:
            raise DataError(f"{root} holds {count} test rows of the {self.rows[1]} needed")
        labels = [table[rows].argmax(1) for table, rows in zip(tables, taken, strict=True)]
        features = [_features(root, part, rows) for part, rows in zip(PARTS, taken, strict=True)]
        return np.concatenate(features), np.concatenate(labels).astype(np.int64)


def _most_frequent(root: Path, train: dict[str, _Bits], test: dict[str, _Bits]) -> list[str]:
    """List the most frequent concepts, in falling order."""
    if list(train) != list(test) or len(train) < _CONCEPTS:
        raise DataError(
            f"{root}/Groundtruth/TrainTestLabels must have the same concepts for Train and Test, "
            f"{_CONCEPTS} or more; get it again from {PUBLISHED}"
        )
    return sorted(train, key=lambda name: -(train[name].sum() + test[name].sum()))[:_CONCEPTS]


def _taken(usable: _Bits, most: int) -> _Bits:
    """Mark the usable rows, or `most` of them, evenly spaced."""
    rows = np.flatnonzero(usable)
    if len(rows) > most:
        rows = rows[np.linspace(0, len(rows) - 1, most).round().astype(np.intp)]
    taken = np.zeros(len(usable), bool)
    taken[rows] = True
    return taken


def _shown(root: Path, part: str) -> dict[str, _Bits]:
    """Return, by concept, which pictures of a part show it."""
    folder = root / "Groundtruth" / "TrainTestLabels"
    paths = sorted(folder.glob(f"Labels_*_{part}.txt"))
    if not paths:
        raise _missing(folder, f"Labels_CONCEPT_{part}.txt")
    found = {path.stem.split("_")[1]: _column(path) for path in paths}
    if len({len(each) for each in found.values()}) > 1:
        raise DataError(f"{folder}: the files of {part} have not equally many lines")
    return found


def _column(path: Path) -> _Bits:
    """Read a file of zeros and ones, one a line."""
    try:
        words = np.array(path.read_bytes().split())
    except OSError as error:
        raise DataError(f"{path} cannot be read", str(error)) from error
    if not np.isin(words, (b"0", b"1")).all():
        raise DataError(f"{path} is damaged: a line must be 0 or 1")
    shows: _Bits = words == b"1"
    return shows


def _features(root: Path, part: str, taken: _Bits) -> NDArray[np.float32]:
    """Read chosen rows of features and tags, side by side."""
    files = {
        root / "Low_Level_Features" / f"{part}_Normalized_{kind}.dat": width
        for kind, width in BLOCKS.items()
    } | {root / "NUS_WID_Tags" / f"{part}_Tags1k.dat": TAGS}
    return np.concatenate([_rows(path, taken, width) for path, width in files.items()], 1)


def _rows(path: Path, taken: _Bits, width: int) -> NDArray[np.float32]:
    """Read the chosen lines of a file, each of `width` numbers."""
    if not path.is_file():
        raise _missing(path.parent, path.name)
    try:
        with path.open("rb") as file:
            if (lines := sum(1 for _ in file)) != len(taken):
                raise DataError(f"{path} has {lines} lines, and the labels have {len(taken)}")
            file.seek(0)
            table: NDArray[np.float32] = np.loadtxt(compress(file, taken), np.float32, ndmin=2)
        if table.shape[1] != width:
            raise DataError(f"{path} has {table.shape[1]} numbers a line, not {width}")
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is damaged; get it again", last_line(error)) from error
    return table


def _missing(folder: Path, name: str) -> AbsentDataError:
    return AbsentDataError(
        f"{name} is not in {folder}; get NUS-WIDE from {PUBLISHED} and put its folders "
        "Low_Level_Features, NUS_WID_Tags and Groundtruth/TrainTestLabels into NUS-WIDE, or set "
        "data-dir (this data set is not downloaded)"
    )


NUS_WIDE = of_whole(_CONCEPTS, NusWide.rows[1], NusWide().load)
